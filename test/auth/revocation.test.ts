import { expect, test } from 'vitest';
import { runDms } from '../journeys/dms-command.js';
import { databaseOfFile } from '../support/database.js';
import { insertDomain } from '../support/rows.js';
import { bearer, serviceOfFile } from '../support/service.js';

const database = databaseOfFile(({ pool }) => insertDomain(pool, { name: 'example.com' }));
const service = serviceOfFile(() => ({ database }));
const other = serviceOfFile(() => ({ database }));

const dms = (command: string) => runDms(command.split(' '), database.environment);

test('a token that one process makes works in others at once, and within five seconds of its revocation nowhere', async () => {
  const { stdout } = await dms('token create --name probe --scope dns:read');
  const ask = async ({ rest }: typeof service) =>
    (await rest('/domain/example.com/dns', bearer(stdout.trim()))).status;
  const statuses = () => Promise.all([service, other].map(ask));
  expect(await statuses()).toEqual([200, 200]);
  expect(await statuses()).toEqual([200, 200]);
  expect(await dms('token revoke probe')).toMatchObject({ code: 0, stdout: 'revoked probe\n' });
  const end = performance.now() + 5_000;
  let begun = performance.now();
  const next = () => {
    begun = performance.now();
    return statuses();
  };
  // However slow the machine is: no request that is begun after five seconds is served.
  for (let now = await next(); String(now) !== '401,401'; now = await next()) {
    expect(begun).toBeLessThan(end);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
});

test('a stream that is open gives nothing once its token is revoked: it ends, and says why', async () => {
  const { stdout } = await dms('token create --name listener --scope search:read');
  const headers = { ...bearer(stdout.trim()), accept: 'text/event-stream' };
  const ask = () => service.fetch('/api/v1/changes', { headers });
  const stream = await ask();
  expect(stream.status).toBe(200);
  await dms('token revoke listener');
  await expect.poll(async () => (await ask()).status, { timeout: 10_000 }).toBe(401);
  await service.record({ domain: 'later.example', at: 1, records: ['192.0.2.1'] });
  const text = await stream.text();
  expect(text).not.toContain('later.example');
  expect(text).toMatch(/event: end\ndata: .*"code":"UNAUTHENTICATED"/);
});
