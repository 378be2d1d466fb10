/**
 * An independent reading of the recording rules: lines of format `dms` in their order, replayed in
 * Maps, give the body of Get domain for each domain. It shares no code with the service, so that the
 * two agree only where both follow the specification.
 *
 *     node test/replay/replay.js FILE > histories.ndjson
 *
 * FILE may be `-` for standard input. The totals go to standard error.
 */

import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { body } from './body.js';
import { newHistory, record } from './domain-history.js';
import { readObservation } from './observation.js';

/** @typedef {import('./domain-history.js').DomainHistory} DomainHistory */
/** @typedef {import('./domain-history.js').Outcome} Outcome */

/**
 * @typedef {object} Totals
 * @property {number} recorded observations that acted on a part at least
 * @property {number} changed recorded ones that changed something, first observations included
 * @property {number} stale observations with a part known from later, and none to act on
 * @property {number} repeated observations of a time that is known already
 */

/** @typedef {{ histories: Map<string, DomainHistory>, totals: Totals }} Replay */

/**
 * @returns {Replay} one that has read no line yet
 */
export function newReplay() {
  return { histories: new Map(), totals: { recorded: 0, changed: 0, stale: 0, repeated: 0 } };
}

/**
 * @param {Replay} replay changed in place
 * @param {string} line
 * @returns {Outcome}
 */
export function replayLine(replay, line) {
  const observation = readObservation(line);
  const history = replay.histories.get(observation.domain) ?? newHistory(observation.domain);
  replay.histories.set(observation.domain, history);
  const result = record(history, observation);
  replay.totals[result.outcome] += 1;
  if (result.changed) replay.totals.changed += 1;
  return result;
}

/**
 * @param {Iterable<string>} lines
 * @returns {Replay}
 */
export function replayLines(lines) {
  const replay = newReplay();
  for (const line of lines) replayLine(replay, line);
  return replay;
}

/**
 * @param {NodeJS.ReadableStream} input UTF-8, one observation a line
 * @returns {Promise<Replay>}
 * @throws {Error} with the line's number, if a line is no observation
 */
export async function replayStream(input) {
  const replay = newReplay();
  let number = 0;
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    number += 1;
    try {
      if (line.trim() !== '') replayLine(replay, line);
    } catch (cause) {
      throw new Error(`line ${number} is no observation`, { cause });
    }
  }
  return replay;
}

/**
 * The bodies of Get domain, by domain, in the order of the names.
 *
 * @param {Pick<Replay, 'histories'>} replay
 * @returns {Map<string, string>}
 */
export function bodies({ histories }) {
  const sorted = [...histories].sort(([one], [other]) => (one < other ? -1 : 1));
  return new Map(sorted.map(([domain, history]) => [domain, body(history)]));
}

/** @param {string | undefined} file */
async function main(file) {
  if (file === undefined) {
    process.stderr.write('Give the file to replay: node test/replay/replay.js FILE > histories.ndjson\n');
    process.exitCode = 2;
    return;
  }
  const replay = await replayStream(file === '-' ? process.stdin : createReadStream(file));
  for (const text of bodies(replay).values()) process.stdout.write(`${text}\n`);
  process.stderr.write(`${JSON.stringify(totals(replay))}\n`);
}

/**
 * @param {Replay} replay
 */
export function totals({ histories, totals: counted }) {
  const dnsRecords = [...histories.values()].reduce((sum, { entries }) => sum + entries.length, 0);
  return { domains: histories.size, dnsRecords, ...counted };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main(process.argv[2]);
