import { getServers, setServers } from 'node:dns';
import { expect, onTestFinished, test } from 'vitest';
import { readSettings } from '../src/config/env.js';
import { openTestDatabase } from './support/database.js';
import { freePort } from './support/free-port.js';
import { startTestService } from './support/service.js';

test('a service that cannot observe ends with the reason, and leaves nothing that listens', async () => {
  const servers = getServers();
  onTestFinished(() => setServers(servers));
  // As on a system whose resolv.conf names none.
  setServers([]);
  const [database, port, { observe }] = [await openTestDatabase(), await freePort(), readSettings({})];
  await expect(startTestService({ database, port, role: 'all', observe })).rejects.toThrow(
    'This system names no DNS resolver: set DNS_SERVERS to one, such as 192.0.2.53.',
  );
  await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow('fetch failed');
  await database.close();
});
