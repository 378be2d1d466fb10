import type { Observation } from '../../src/model/observation.js';

/** In microseconds. */
export const HOUR = 3_600_000_000n;

/**
 * What a look has met: an answer over HTTPS; HTTPS declined, and an answer over HTTP or none; HTTPS that timed
 * out or was reset; or headers of which nobody says how they came.
 */
export const LOOK_KINDS = ['https', 'http', 'neither', 'silence', 'imported'] as const;

export interface Look {
  readonly kind: (typeof LOOK_KINDS)[number];
  /** Microseconds since the epoch. */
  readonly at: bigint;
}

export function observationOf({ kind, at }: Look): Observation {
  const dns = { types: new Set(['A']), records: new Map() };
  const seen = { domain: 'example.com', observedAt: at, dns };
  const httpHeaders = new Map([['x-kind', kind]]);
  const response = { status: 200, address: '192.0.2.7' };
  switch (kind) {
    case 'https':
      return { ...seen, httpHeaders, response: { scheme: kind, ...response } };
    case 'http':
      return { ...seen, httpHeaders, httpsDeclined: true, response: { scheme: kind, ...response } };
    case 'neither':
      return { ...seen, httpsDeclined: true };
    case 'imported':
      return { ...seen, httpHeaders };
    default:
      return seen;
  }
}

/** Looks in words with the hours of their times, such as `https@0 http@1.5`. */
export function looks(text: string): Look[] {
  return text.split(' ').map((word) => {
    const [name, hour] = word.split('@');
    const kind = LOOK_KINDS.find((candidate) => candidate === name);
    if (kind === undefined) throw new Error(`${word} is no look`);
    return { kind, at: BigInt(Number(hour) * 60) * (HOUR / 60n) };
  });
}
