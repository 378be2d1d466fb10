import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { validate } from 'dockerfile-utils';
import { expect, test } from 'vitest';
import { CHECKOUT, textOf } from '../support/deployment-files.js';

const TEXT = textOf('Dockerfile');
const stages = TEXT.split(/^(?=FROM )/m).slice(1);

/** What follows an instruction, wherever it is in a stage; an instruction may continue on the next line. */
function argumentsOf(instruction: string, stage: string | undefined): string[] {
  const lines = stage?.replaceAll(/\\\n/g, '').matchAll(new RegExp(`^${instruction} +(.*)$`, 'gm')) ?? [];
  return [...lines].map(([, content = '']) => content);
}

test('Dockerfile has no mistake that a linter finds', () => {
  expect(validate(TEXT)).toEqual([]);
});

test('the image runs as a user that is not root, by number, so that Kubernetes can tell', () => {
  expect(argumentsOf('USER', stages.at(-1))).toEqual([expect.stringMatching(/^[1-9]\d*:[1-9]\d*$/)]);
});

test('its program gets signals itself, not a shell', () => {
  expect(argumentsOf('ENTRYPOINT', stages.at(-1))).toEqual(['["dms"]']);
  expect(argumentsOf('CMD', stages.at(-1))).toEqual(['["serve"]']);
});

test('it has packages only of a stage without development dependencies', () => {
  const packages = argumentsOf('COPY', stages.at(-1)).filter((content) => content.includes('node_modules'));
  expect(packages).toEqual(['--from=dependencies /app/node_modules /app/node_modules']);
  const stage = stages.find((one) => /^FROM \S+ AS dependencies\n/.test(one));
  const installs = argumentsOf('RUN', stage).filter((content) => content.includes('npm '));
  expect(installs).toEqual([expect.stringContaining('npm ci --omit=dev --omit=optional ')]);
});

test('what it copies exists, and .dockerignore lets it through', () => {
  const allowed = textOf('.dockerignore')
    .split('\n')
    .flatMap((line) => /^!([^*]+)$/.exec(line)?.[1] ?? []);
  expect(allowed.filter((path) => !existsSync(join(CHECKOUT, path)))).toEqual([]);
  const copied = argumentsOf('COPY', stages.at(-1))
    .filter((content) => !content.startsWith('--from'))
    .flatMap((content) => content.split(' ').slice(0, -1));
  expect(copied.length).toBeGreaterThan(0);
  const isAllowed = (path: string) => allowed.some((top) => path === top || path.startsWith(`${top}/`));
  expect(copied.filter((path) => !existsSync(join(CHECKOUT, path)) || !isAllowed(path))).toEqual([]);
});
