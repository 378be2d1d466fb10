import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { insertDomain } from '../support/rows.js';
import { startTestService, type TestService } from '../support/service.js';

let database: TestDatabase;
let service: TestService;

beforeAll(async () => {
  database = await openTestDatabase();
  await insertDomain(database.pool, { name: 'example.com' });
  const rateLimits = { anonymous: 2, token: 2 };
  service = await startTestService({ database, role: 'api', rateLimits, trustProxy: 1 });
});
afterAll(async () => {
  await service.stop();
  await database.close();
});

function askFrom(address: string): Promise<Response> {
  return fetch(`${service.url}/api/v1/domain/example.com`, { headers: { 'x-forwarded-for': address } });
}

async function statusesOf(addresses: readonly string[]): Promise<number[]> {
  const statuses = [];
  for (const address of addresses) statuses.push((await askFrom(address)).status);
  return statuses;
}

test('without a token, all addresses of an IPv6 network of 64 bits have one budget, and another network its own', async () => {
  const network = ['2001:db8:0:1::1', '2001:db8:0:1:ffff::2', '2001:DB8:0:1::3'];
  expect(await statusesOf(network)).toEqual([200, 200, 429]);
  expect(await statusesOf(['2001:db8:0:2::1'])).toEqual([200]);
});

test('an IPv4 address has one budget, however it is written, and its neighbour its own', async () => {
  expect(await statusesOf(['192.0.2.1', '::ffff:192.0.2.1', '192.0.2.1', '192.0.2.2'])).toEqual([
    200, 200, 429, 200,
  ]);
});

test('the nearest proxies name the client, however long X-Forwarded-For is', async () => {
  const others = Array.from({ length: 300 }, (_, at) => `198.51.100.${at % 250}`).join(', ');
  expect(await statusesOf([`${others}, 192.0.2.3`, '192.0.2.3', `${others},192.0.2.3`])).toEqual([
    200, 200, 429,
  ]);
});
