import { serverAudits } from 'graphql-http';
import { expect, test } from 'vitest';
import { serviceOfFile } from '../support/service.js';

const service = serviceOfFile();

const audits = serverAudits({ url: () => `${service.url}/graphql` });

/** Invalid requests get 400 in every media type: see "GraphQL over HTTP" in docs/graphql.md. */
const NOT_FOLLOWED = ['572B', 'FDE2', '7B9B'];

const followed = audits.filter(({ id }) => !NOT_FOLLOWED.includes(id));
const others = audits.filter(({ id }) => NOT_FOLLOWED.includes(id));

test.each(followed)('GraphQL over HTTP: $name ($id)', async ({ fn }) => {
  expect(await fn()).toMatchObject({ status: 'ok' });
});

test.each(others)('GraphQL over HTTP, not followed: $name ($id)', async ({ name, fn }) => {
  expect(await fn()).toMatchObject({ status: expect.stringMatching(/^(?:notice|warn)$/) });
  expect(name).not.toMatch(/^MUST/);
});

test('GraphQL over HTTP has 61 audits, of which three are not followed', () => {
  expect([audits.length, others.length]).toEqual([61, 3]);
});
