import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A port where nobody listens: that of HTTPS, so that each domain is observed by plain HTTP. */
const REJECTING_PORT = '1';

/**
 * @param {string} port of both servers.js
 * @returns {Record<string, string>} the settings of a worker that observes them
 */
export function observing(port) {
  return {
    DNS_SERVERS: `127.0.0.1:${port}`,
    OBSERVE_PRIVATE: 'allow',
    OBSERVE_HTTPS_PORT: REJECTING_PORT,
    OBSERVE_HTTP_PORT: port,
  };
}

/**
 * Adds domains to those that are observed, by `dms watch add`.
 *
 * @param {string} program
 * @param {NodeJS.ProcessEnv} environment added to our own
 * @param {string[]} domains
 * @param {string} every
 */
export async function watch(program, environment, domains, every) {
  const child = spawn(process.execPath, [program, 'watch', 'add', '--from-file', '-', '--every', every], {
    env: { ...process.env, ...environment },
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  child.stdin.end(`${domains.join('\n')}\n`);
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error('dms watch add failed');
}
