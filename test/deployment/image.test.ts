import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Engine, HAS_PODMAN, prepareEngine } from '../support/containers.js';
import { CHECKOUT, textOf } from '../support/deployment-files.js';
import { freePort } from '../support/free-port.js';
import { IS_LONG } from '../support/long-form.js';

/** As compose.yaml and the manifests for Kubernetes run it. */
const RESTRICTED = ['--read-only', '--tmpfs=/tmp', '--cap-drop=ALL', '--security-opt=no-new-privileges'];

/** Of package-lock.json. */
type LockedPackage = Readonly<Partial<Record<'dev' | 'devOptional' | 'optional', boolean>>>;

describe.skipIf(!IS_LONG || !HAS_PODMAN)('the image of Dockerfile', () => {
  let engine: Engine;
  beforeAll(async () => {
    engine = await prepareEngine();
    await engine.build(CHECKOUT, 'dms');
  }, 600_000);
  afterAll(() => engine?.close());

  test('has every package that the program needs, and none that only development does', async () => {
    const lock: { packages: Record<string, LockedPackage> } = JSON.parse(textOf('package-lock.json'));
    const list =
      "console.log(Object.keys(require('/app/node_modules/.package-lock.json').packages).join('\\n'))";
    const found = (await engine.run('dms', ['-e', list], '--entrypoint=node')).split('\n');
    const needed = Object.keys(lock.packages).filter((path) => {
      const { dev, devOptional, optional } = lock.packages[path] ?? {};
      return path !== '' && !dev && !devOptional && !optional;
    });
    expect(found.sort()).toEqual(needed.sort());
  });

  test('serves the samples without root, capabilities and a writable file system, and keeps its data when it is stopped', async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const serve = async () => {
      await expect.poll(() => statusOf(`${url}/readyz`)).toBe(200);
      await engine.podman('healthcheck', 'run', 'one');
    };
    const options = [`--env=PORT=${port}`, '--env=HOST=127.0.0.1', '--volume=one:/data'];
    await engine.start('dms', 'one', ...RESTRICTED, ...options);
    await serve();
    const pages = ['', 'docs/settings', 'graphiql', 'api/v1/docs', 'api/v1/openapi.json'];
    for (const path of [...pages, 'api/v1/domain/example.com']) {
      expect(await statusOf(`${url}/${path}`), path).toBe(200);
    }
    expect(await engine.podman('exec', 'one', 'dms', 'token', 'create', '--name', 'kept')).toMatch(/^dms_/);

    await engine.podman('stop', '--time=30', 'one');
    expect(await engine.podman('inspect', '--format={{.State.ExitCode}}', 'one')).toBe('0');
    await engine.podman('start', 'one');
    await serve();
    expect(await engine.podman('exec', 'one', 'dms', 'token', 'list')).toMatch(/^kept /m);
    expect(await engine.podman('exec', 'one', 'dms', 'verify')).toMatch(/^No violations in 5 domains/);
  });

  async function statusOf(url: string): Promise<number> {
    const response = await fetch(url).catch(() => null);
    return response?.status ?? 0;
  }
});
