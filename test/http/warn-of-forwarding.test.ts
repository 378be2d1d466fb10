import { expect, test } from 'vitest';
import { databaseOfFile } from '../support/database.js';
import { startServiceForTest } from '../support/service.js';

const database = databaseOfFile();

async function warningsOf(trustProxy: number | readonly string[], values: readonly (string | undefined)[]) {
  const service = await startServiceForTest({ database, trustProxy });
  for (const value of values)
    await service.rest('/nothing', value === undefined ? {} : { 'x-forwarded-for': value });
  return service.logged.filter(({ level }) => level === 'warn').map(({ msg }) => msg);
}

test('X-Forwarded-For that is ignored is told once, with what to set', async () => {
  expect(await warningsOf(0, [undefined, '192.0.2.1', '192.0.2.2'])).toEqual([
    expect.stringMatching(/^X-Forwarded-For .* is ignored, since no proxy is trusted: .* set TRUST_PROXY/),
  ]);
});

test('nothing is told where none comes, or where a proxy is trusted', async () => {
  expect(await warningsOf(0, [undefined, undefined])).toEqual([]);
  expect(await warningsOf(1, ['192.0.2.1'])).toEqual([]);
  expect(await warningsOf(['loopback'], ['192.0.2.1'])).toEqual([]);
});
