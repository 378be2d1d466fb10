import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, isBuilt } from './build.js';
import { install, isInstalled } from './install.js';
import { withLock } from './lock.js';
import { ROOT } from './run.js';

/**
 * Makes the checkout ready to run: installs the dependencies and builds, each only if it is needed. Reports what it
 * does on standard error. Two processes may do it at once.
 *
 * Own code, as one command must make a checkout ready to run before any dependency is there that could do it.
 *
 * @param {{ development: boolean }} options whether the development dependencies are needed (tests do); an
 *   installation without them, once built, runs without them
 * @returns {Promise<boolean>} whether all is ready; if not, the reason has been printed
 */
export async function setUp({ development }) {
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const { node } = process.versions;
  if (!isSupportedNode(node, engines.node)) {
    say(
      `Node ${node} is too old or not supported: install Node 20.19 or later, 22.12 or later, or 24 or later.`,
    );
    return false;
  }
  const isReady = () => isInstalled(ROOT, { development }) && isBuilt();
  const makeReady = async () => {
    // Another process may have done it while we waited.
    if (isReady()) return;
    if (!isInstalled(ROOT, { development: true })) {
      say('Installing the dependencies (npm ci)');
      await install();
    }
    await build(say);
  };
  try {
    const sayWaiting = () => say('Waiting for another process that is setting up');
    if (!isReady()) await withLock(join(ROOT, 'dist/.set-up-lock'), sayWaiting, makeReady);
    return true;
  } catch (error) {
    say(`The set-up failed: ${error instanceof Error ? error.message : error}.`);
    return false;
  }
}

/**
 * Whether a version of Node satisfies a range in the forms that package.json's `engines` uses: `^20.19.0`,
 * `>=24.0.0`, and alternatives of them joined by `||`.
 *
 * @param {string} version as in process.versions.node
 * @param {string} range
 * @returns {boolean}
 */
export function isSupportedNode(version, range) {
  const [major, minor] = majorAndMinor(version);
  return range.split('||').some((part) => {
    const [wantedMajor, wantedMinor] = majorAndMinor(part);
    return major === wantedMajor ? minor >= wantedMinor : part.includes('>=') && major > wantedMajor;
  });
}

/**
 * @param {string} text
 * @returns {[number, number]}
 */
function majorAndMinor(text) {
  const [major = 0, minor = 0] = (text.match(/\d+/g) ?? []).map(Number);
  return [major, minor];
}

/** @param {string} line */
function say(line) {
  process.stderr.write(`dms: ${line}\n`);
}
