import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ROOT, run } from './run.js';

/** @typedef {{ version?: string, integrity?: string, dev?: boolean, optional?: boolean, devOptional?: boolean }} LockedPackage */

/**
 * Whether node_modules holds what package-lock.json says. npm writes node_modules/.package-lock.json
 * at the end of an installation, so an interrupted one has none. Contents are compared, not times: a
 * `git checkout` there and back changes times only.
 *
 * @param {string} root the checkout
 * @param {{ development: boolean }} options whether the development dependencies are needed too
 * @returns {boolean}
 */
export function isInstalled(root, { development }) {
  const installedFile = join(root, 'node_modules/.package-lock.json');
  if (!existsSync(installedFile)) return false;
  const installed = packagesOf(installedFile);
  return Object.entries(packagesOf(join(root, 'package-lock.json'))).every(([path, wanted]) => {
    if (path === '') return true;
    const found = installed[path];
    if (found) return found.version === wanted.version && found.integrity === wanted.integrity;
    // npm leaves out what another operating system or processor needs.
    return Boolean(wanted.optional || wanted.devOptional || (wanted.dev && !development));
  });
}

/**
 * Runs `npm ci`. No dependency of the project needs its install script.
 *
 * @param {string} [root] the folder with package-lock.json
 * @returns {Promise<void>}
 * @throws {Error} if npm fails; npm has printed why
 */
export async function install(root = ROOT) {
  const [command, ...first] = npmCommand();
  const args = ['ci', '--ignore-scripts', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  const place = root === ROOT ? [] : [`--prefix=${root}`];
  await run(command, [...first, ...args, ...place], { quiet: false });
}

/**
 * @param {string} file
 * @returns {Record<string, LockedPackage>}
 */
function packagesOf(file) {
  return JSON.parse(readFileSync(file, 'utf8')).packages;
}

/**
 * The npm that runs us, or the one that came with this Node, or the one on the PATH.
 *
 * @returns {[string, ...string[]]}
 */
function npmCommand() {
  const nodeFolder = dirname(process.execPath);
  const candidates = [
    process.env['npm_execpath'],
    join(nodeFolder, '../lib/node_modules/npm/bin/npm-cli.js'),
    join(nodeFolder, 'node_modules/npm/bin/npm-cli.js'),
  ];
  const script = candidates.find((path) => path && basename(path) === 'npm-cli.js' && existsSync(path));
  return script ? [process.execPath, script] : ['npm'];
}
