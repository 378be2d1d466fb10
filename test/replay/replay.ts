/**
 * An independent reading of the recording rules: lines of format `dms` in their order give the body of Get domain. It
 * shares no code with the service, so that the two agree only where both follow the specification.
 */

import { createInterface } from 'node:readline';
import { body } from './body.js';
import { DomainHistory, record } from './domain-history.js';
import { readObservation } from './observation.js';

/** By domain. */
export type Histories = Map<string, DomainHistory>;

/** @param histories Known so far; the observations are added to them. @throws Error if a line is no observation. */
export function replayLines(lines: Iterable<string>, histories: Histories = new Map()): Histories {
  for (const line of lines) {
    const observation = readObservation(line);
    const history = histories.get(observation.domain) ?? new DomainHistory(observation.domain);
    histories.set(observation.domain, history);
    record(history, observation);
  }
  return histories;
}

/** Replays one observation a line, in UTF-8. */
export async function replayStream(input: NodeJS.ReadableStream): Promise<Histories> {
  const histories: Histories = new Map();
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line.trim() !== '') replayLines([line], histories);
  }
  return histories;
}

/** The bodies of Get domain, by domain. */
export function bodies(histories: Histories): Map<string, string> {
  return new Map([...histories].map(([domain, history]) => [domain, body(history)]));
}
