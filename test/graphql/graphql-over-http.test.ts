import { serverAudits } from 'graphql-http';
import { describe, expect, test } from 'vitest';
import { serviceOfFile } from '../support/service.js';

const service = serviceOfFile();

const audits = serverAudits({ url: () => `${service.url}/graphql` });

const STATUS_400 =
  'a request that is not valid is answered with 400 in every media type, as Apollo Server does: logs, proxies and clients see by the status that it failed';
/** The recommendations that are not followed, and why: see "GraphQL over HTTP" in docs/graphql.md. */
const NOT_FOLLOWED: Readonly<Record<string, string>> = {
  '572B': STATUS_400,
  FDE2: STATUS_400,
  '7B9B': STATUS_400,
};

describe('GraphQL over HTTP', () => {
  const followed = audits.filter(({ id }) => NOT_FOLLOWED[id] === undefined);

  test.each(followed.map(({ id, name, fn }) => [name, id, fn] as const))(
    '%s (%s)',
    async (_name, _id, run) => {
      expect(await run()).toMatchObject({ status: 'ok' });
    },
  );

  const others = audits.filter(({ id }) => NOT_FOLLOWED[id] !== undefined);

  test.each(others.map(({ id, name, fn }) => [name, NOT_FOLLOWED[id], fn] as const))(
    '%s: not followed, since %s',
    async (name, _reason, run) => {
      expect(await run()).toMatchObject({ status: expect.stringMatching(/^(?:notice|warn)$/) });
      expect(name).not.toMatch(/^MUST/);
    },
  );

  test('is held to all of the 61 audits', () => {
    expect(audits).toHaveLength(61);
    expect(others).toHaveLength(3);
  });
});
