import { fileURLToPath } from 'node:url';
import { run } from '../processes.js';

const SCRIPT = fileURLToPath(new URL('./random-domain.lua', import.meta.url));

/**
 * @typedef {object} Load
 * @property {string} url with the path before the domain's name, or of the GraphQL endpoint
 * @property {number} domains how many there are to choose from
 * @property {string | undefined} bodyFile for a POST
 * @property {number} connections
 * @property {number} seconds
 */

/** @typedef {{ rate: number, latency: number }} Measured requests a second, and the median latency in ms */

/**
 * Loads a server from one thread.
 *
 * @param {Load} load
 * @returns {Promise<Measured>}
 * @throws {Error} when a request was not answered with success: its rate would mean nothing
 */
export async function measure({ url, domains, bodyFile, connections, seconds }) {
  const options = ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', '-s', SCRIPT, url];
  const { code, stdout, stderr } = await run('wrk', [
    ...options,
    '--',
    String(domains),
    ...(bodyFile === undefined ? [] : [bodyFile]),
  ]);
  if (code !== 0 || /Non-2xx|Socket errors/.test(stdout))
    throw new Error(`wrk at ${url}:\n${stdout}${stderr}`);
  return {
    rate: Number(/Requests\/sec:\s*([\d.]+)/.exec(stdout)?.[1]),
    // At the start of its line: the share within one standard deviation may well be 87.50%.
    latency: milliseconds(/^\s*50%\s+(\S+)/m.exec(stdout)?.[1] ?? ''),
  };
}

/** @param {string} text such as `912.00us`, `4.05ms` or `1.02s` */
function milliseconds(text) {
  const factor = text.endsWith('us') ? 0.001 : text.endsWith('ms') ? 1 : 1000;
  return Number.parseFloat(text) * factor;
}
