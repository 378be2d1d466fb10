import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { readSettings } from '../../src/config/env.js';
import { freePort } from '../support/free-port.js';
import { isInstalled, PATH } from '../support/processes.js';
import { bearer, serviceOfFile, withSamples } from '../support/service.js';
import { documentedCode, folderOfFile } from './documented-clients.js';

const folder = folderOfFile();
// One second: so long is a copy of nginx used without asking.
const service = serviceOfFile({ http: { ...readSettings({}).http, maxAge: 1 } }, withSamples);

const HAS_PYTHON = spawnSync('python3', ['--version']).status === 0;

test.skipIf(!HAS_PYTHON)('Python reads the pages of REST, and asks GraphQL, as documented', async () => {
  const code = documentedCode('Python', service.url);
  const child = spawn('python3', [folder.write('client.py', code.get('python'))]);
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(errors).toBe('');
  expect(output).toBe(code.get('text'));
});

/** As root it would take another user, who may not enter the folder. */
const USER = process.getuid?.() === 0 ? 'user root;' : '';

async function startNginx(): Promise<string> {
  const port = await freePort();
  const documented = documentedCode('nginx', service.url).get('nginx') ?? '';
  const http = documented
    .replace('127.0.0.1:8080', `127.0.0.1:${port}`)
    .replace('/var/cache/nginx/dms', join(folder.path, 'cache'));
  const names = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const paths = names.map((name) => `${name}_temp_path ${join(folder.path, name)};`);
  const file = folder.write(
    'nginx.conf',
    `pid ${join(folder.path, 'nginx.pid')};
     error_log ${join(folder.path, 'error.log')};
     worker_processes 1;
     ${USER}
     events {}
     http { access_log off; ${paths.join(' ')} ${http} }`,
  );
  const args = ['-p', folder.path, '-c', file, '-g', 'daemon off;'];
  const child = spawn('nginx', args, { env: { PATH }, stdio: 'ignore' });
  onTestFinished(async () => {
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  });
  const url = `http://127.0.0.1:${port}`;
  await expect.poll(async () => (await fetch(`${url}/livez`).catch(() => null))?.status).toBe(200);
  return url;
}

test.skipIf(!isInstalled('nginx'))(
  'nginx keeps responses as documented: for each address its own, revalidated when old, and none of who has a token',
  async () => {
    const url = await startNginx();
    const get = async (path: string, headers = {}) => {
      const response = await fetch(url + path, { headers });
      const [status, limit] = ['x-cache-status', 'ratelimit'].map((name) => response.headers.get(name));
      return { status, limit, body: await response.text() };
    };
    const path = '/api/v1/domain/example.com';
    const first = await get(path);
    expect(first).toMatchObject({ status: 'MISS', limit: null });
    const then = await get(`${path}?at=2023-03-01T00:00:00Z`);
    expect([then.status, then.body === first.body]).toEqual(['MISS', false]);
    await expect.poll(async () => (await get(path)).status).toBe('HIT');
    await expect.poll(async () => (await get(path)).status).toBe('REVALIDATED');
    expect((await get(path)).body).toBe(first.body);
    const token = await service.createToken();
    expect((await get(path, bearer(token))).status).toBe('BYPASS');
    const query = encodeURIComponent('{ domain(name: "example.com") { name } }');
    for (let at = 0; at < 2; at++) expect((await get(`/graphql?query=${query}`)).status).toBe('MISS');

    await service.record({ at: 1, records: ['192.0.2.99'] });
    await expect.poll(async () => (await get(path)).body).toContain('192.0.2.99');
  },
);
