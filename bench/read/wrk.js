import { fileURLToPath } from 'node:url';
import { run } from '../processes.js';

const SCRIPT = fileURLToPath(new URL('./random-domain.lua', import.meta.url));

/**
 * @typedef {object} Load
 * @property {string} url with the path before the domain's name, or of the GraphQL endpoint
 * @property {number} domains how many there are to choose from
 * @property {'zipf' | undefined} popularity by Zipf's law; otherwise all are asked for alike
 * @property {string | undefined} bodyFile for a POST
 * @property {string | undefined} tagsFile for revalidation: see random-domain.lua
 * @property {number} connections
 * @property {number} seconds
 */

/** @typedef {{ rate: number, latency: number, slow: number }} Measured requests a second; the median and the 99th percentile of latency in ms */

/**
 * Loads a server from one thread.
 *
 * @param {Load} load
 * @returns {Promise<Measured>}
 * @throws {Error} when a request was not answered with success: its rate would mean nothing
 */
export async function measure({ url, domains, popularity, bodyFile, tagsFile, connections, seconds }) {
  const options = ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', '-s', SCRIPT, url];
  const { code, stdout, stderr } = await run('wrk', options, {
    DOMAINS: String(domains),
    POPULARITY: popularity,
    BODY_FILE: bodyFile,
    TAGS_FILE: tagsFile,
  });
  if (code !== 0 || /Non-2xx|Socket errors/.test(stdout))
    throw new Error(`wrk at ${url}:\n${stdout}${stderr}`);
  return {
    rate: Number(/Requests\/sec:\s*([\d.]+)/.exec(stdout)?.[1]),
    latency: percentile(50, stdout),
    slow: percentile(99, stdout),
  };
}

/**
 * @param {number} percent
 * @param {string} stdout of wrk
 * @returns {number} milliseconds
 */
function percentile(percent, stdout) {
  // At the start of its line: the share within one standard deviation may well be 87.50%.
  const text = new RegExp(`^\\s*${percent}%\\s+(\\S+)`, 'm').exec(stdout)?.[1] ?? '';
  const factor = text.endsWith('us') ? 0.001 : text.endsWith('ms') ? 1 : 1000;
  return Number.parseFloat(text) * factor;
}
