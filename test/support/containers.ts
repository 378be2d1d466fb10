import { execFile, execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { isInstalled } from './processes.js';

export const HAS_PODMAN = isInstalled('podman') && isInstalled('runc') && process.getuid?.() === 0;

/** What the image of a Dockerfile needs of a base image, beside Node.js and npm. */
const PROGRAMS = ['sh', 'env', 'node', 'chown', 'find', 'ln', 'mkdir', 'rm', 'sleep'];

/** No more than this process may have. */
const LIMITS = ['--ulimit=nofile=8192:8192', '--ulimit=nproc=8192:8192'];

export type Engine = Awaited<ReturnType<typeof prepareEngine>>;

/**
 * Prepares an engine that has one image, under the name `node:24-slim`: the Node.js and npm that run this test, and those
 * programs of this machine that the build needs, with their libraries. Nothing but packages is downloaded.
 */
export async function prepareEngine() {
  const folder = mkdtempSync(join(tmpdir(), 'dms-containers-'));
  const own = ['--root', join(folder, 'images'), '--runroot', join(folder, 'run')];
  // Neither systemd nor the newer control groups are needed.
  const plain = '--cgroup-manager=cgroupfs --runtime=runc --events-backend=none --log-level=fatal'.split(' ');
  /** Runs a command of podman. @returns what it prints. @throws Error if it fails, with that. */
  const podman = async (...args: readonly string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)('podman', [...own, ...plain, ...args], {
      maxBuffer: 2 ** 26,
    });
    return stdout.trim();
  };
  const base = join(folder, 'base');
  copyBase(base);
  execFileSync('tar', ['-C', base, '-cf', `${base}.tar`, '.']);
  await podman('import', `${base}.tar`, 'docker.io/library/node:24-slim');
  return {
    podman,
    build(context: string, name: string) {
      const options = '--format=docker --layers=false --pull=never --network=host'.split(' ');
      const volumes = npmFiles().map((file) => `--volume=${file}:${file}:ro`);
      return podman('build', ...options, ...volumes, ...LIMITS, '--tag', name, context);
    },
    /** Runs a container to its end, without a network. @returns what it prints. */
    run: (image: string, command: readonly string[], ...options: readonly string[]) =>
      podman('run', '--rm', '--network=none', ...LIMITS, ...options, image, ...command),
    /** Starts a container, which has this machine's loopback. */
    start: (image: string, container: string, ...options: readonly string[]) =>
      podman('run', '--detach', '--network=host', ...LIMITS, '--name', container, ...options, image),
    async close() {
      await podman('rm', '--all', '--force', '--volumes', '--time=0');
      await podman('rmi', '--all', '--force');
      execFileSync('rm', ['-rf', folder]);
    },
  };
}

function copyBase(base: string): void {
  for (const path of 'usr/bin usr/lib/node_modules tmp etc root home/node usr/local/bin'.split(' '))
    mkdirSync(join(base, path), { recursive: true });
  symlinkSync('usr/bin', join(base, 'bin'));
  const users = 'root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n';
  writeFileSync(join(base, 'etc/passwd'), users);
  for (const name of PROGRAMS) copyFileSync(pathOf(name), join(base, 'usr/bin', name));
  const linked = execFileSync('ldd', PROGRAMS.map(pathOf), { encoding: 'utf8' });
  const library = execFileSync('dpkg', ['-L', 'libc6'], { encoding: 'utf8' });
  const libraries = `${linked}\n${library}`.match(/\/lib(?:64)?\/\S*\.so\S*(?<!:)/g) ?? [];
  for (const file of new Set(libraries)) {
    mkdirSync(join(base, dirname(file)), { recursive: true });
    copyFileSync(file, join(base, file));
  }
  const npm = dirname(dirname(pathOf('npm')));
  cpSync(npm, join(base, 'usr/lib/node_modules/npm'), { recursive: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(base, 'usr/bin/npm'));
}

function pathOf(program: string): string {
  return realpathSync(execFileSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).trim());
}

/** The files that say how npm reaches its registry here; the image does not get them. */
function npmFiles(): string[] {
  return ['globalconfig', 'userconfig', 'cafile']
    .map((name) => execFileSync('npm', ['config', 'get', name], { encoding: 'utf8' }).trim())
    .filter((path) => path.startsWith('/') && existsSync(path));
}
