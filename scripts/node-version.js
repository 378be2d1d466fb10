import { readFileSync } from 'node:fs';

/** @typedef {{ major: number, minor: number }} Version */

/**
 * Whether a version of Node satisfies a range in the three forms that package.json's `engines` uses:
 * `^20.19.0`, `>=24.0.0`, and alternatives of them joined by `||`.
 *
 * @param {string} version as in process.versions.node
 * @param {string} range
 * @returns {boolean}
 */
export function isSupportedNode(version, range) {
  const running = parse(version);
  return range.split('||').some((part) => {
    const wanted = parse(part.replace(/^\s*(\^|>=)/, ''));
    if (part.trim().startsWith('^') && running.major !== wanted.major) return false;
    return running.major > wanted.major || (running.major === wanted.major && running.minor >= wanted.minor);
  });
}

/**
 * @param {URL} packageFile the package.json whose `engines` say which versions of Node will do
 * @returns {string | undefined} a line for the user, where the running Node is none of them
 */
export function complaintAboutNode(packageFile) {
  const range = JSON.parse(readFileSync(packageFile, 'utf8')).engines.node;
  if (isSupportedNode(process.versions.node, range)) return undefined;
  return `Node ${process.versions.node} is too old or not supported: install Node 20.19 or later, 22.12 or later, or 24 or later.`;
}

/**
 * @param {string} text
 * @returns {Version}
 */
function parse(text) {
  const [major, minor] = text.trim().split('.').map(Number);
  return { major: major ?? 0, minor: minor ?? 0 };
}
