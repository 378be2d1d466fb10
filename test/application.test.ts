import { expect, test } from 'vitest';
import { readSettings } from '../src/config/env.js';
import { OperationError } from '../src/model/errors.js';
import { openTestDatabase } from './support/database.js';
import { freePort } from './support/free-port.js';
import { startTestService } from './support/service.js';

test('a service that cannot observe ends with the reason, and leaves nothing that listens', async () => {
  const [database, port, { observe }] = [await openTestDatabase(), await freePort(), readSettings({})];
  // In place of a system that names no resolver, which a test cannot have: that is told when the observer starts, too.
  const without: typeof observe = {
    ...observe,
    get dnsServers(): never {
      throw new OperationError('This system names no DNS resolver.');
    },
  };
  const started = startTestService({ database, port, role: 'all', observe: without });
  await expect(started).rejects.toThrow('This system names no DNS resolver.');
  await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow('fetch failed');
  await database.close();
});
