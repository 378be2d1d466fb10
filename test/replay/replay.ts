/**
 * An independent reading of the recording rules: lines of format `dms` in their order give the body of Get domain. It
 * shares no code with the service, so that the two agree only where both follow the specification.
 */

import { createInterface } from 'node:readline';
import { body } from './body.js';
import { DomainHistory, record } from './domain-history.js';
import { readObservation } from './observation.js';

export interface Replay {
  readonly histories: Map<string, DomainHistory>;
  /** How many observations acted on a part at least, how many of them changed something, and how many did not act. */
  readonly totals: { recorded: number; changed: number; stale: number; repeated: number };
}

/** @throws Error if a line is no observation. */
export function replayLines(
  lines: Iterable<string>,
  replay: Replay = { histories: new Map(), totals: { recorded: 0, changed: 0, stale: 0, repeated: 0 } },
): Replay {
  const { histories, totals } = replay;
  for (const line of lines) {
    const observation = readObservation(line);
    const history = histories.get(observation.domain) ?? new DomainHistory(observation.domain);
    histories.set(observation.domain, history);
    const result = record(history, observation);
    totals[result.outcome] += 1;
    if (result.changed) totals.changed += 1;
  }
  return replay;
}

/** Replays one observation a line, in UTF-8. */
export async function replayStream(input: NodeJS.ReadableStream): Promise<Replay> {
  const replay = replayLines([]);
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line.trim() !== '') replayLines([line], replay);
  }
  return replay;
}

/** The bodies of Get domain, by domain, in the order of the names. */
export function bodies({ histories }: Pick<Replay, 'histories'>): Map<string, string> {
  const sorted = [...histories].sort(([one], [other]) => (one < other ? -1 : 1));
  return new Map(sorted.map(([domain, history]) => [domain, body(history)]));
}

export function totals({ histories, totals: counted }: Replay) {
  const dnsRecords = [...histories.values()].reduce((sum, { entries }) => sum + entries.length, 0);
  return { domains: histories.size, dnsRecords, ...counted };
}
