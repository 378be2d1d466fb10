import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, isBuilt } from './build.js';
import { install, isInstalled } from './install.js';
import { withLock } from './lock.js';
import { complaintAboutNode } from './node-version.js';

const root = fileURLToPath(new URL('..', import.meta.url));

/**
 * Makes the checkout ready to run: installs the dependencies and builds, each only where it is needed.
 * Says what it does on standard error. Two processes may do it at once.
 *
 * @param {{ development: boolean }} options whether what follows needs the development dependencies
 *   (tests do); an installation without them, once built, runs without them
 * @returns {Promise<boolean>} whether all is ready; if not, the reason has been printed
 */
export async function setUp({ development }) {
  const complaint = complaintAboutNode(new URL('../package.json', import.meta.url));
  if (complaint) {
    say(complaint);
    return false;
  }
  try {
    if (!isReady(development))
      await withLock(join(root, 'dist/.lock'), sayWaiting, () => makeReady(development));
    return true;
  } catch (error) {
    say(`The set-up failed: ${error instanceof Error ? error.message : error}.`);
    return false;
  }
}

/** @param {boolean} development */
function isReady(development) {
  return isInstalled(root, { development }) && isBuilt(root);
}

/** @param {boolean} development */
async function makeReady(development) {
  // Another process may have done it while we waited.
  if (isReady(development)) return;
  if (!isInstalled(root, { development: true })) {
    say('Installing the dependencies (npm ci)');
    await install(root);
  }
  await build(root, say);
}

function sayWaiting() {
  say('Waiting for another process that is setting up');
}

/** @param {string} line */
function say(line) {
  process.stderr.write(`dms: ${line}\n`);
}
