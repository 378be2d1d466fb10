import fc from 'fast-check';
import { expect } from 'vitest';
import { parseDmsLine } from '../../src/importers/dms.js';
import { compareInstants, formatInstant, type Instant } from '../../src/model/instant.js';
import { changeItems, diffBody } from '../replay/body.js';
import { bodies, replayLines } from '../replay/replay.js';
import { NOW } from '../support/observations.js';
import { answersOf } from './serving.js';

export interface TimedLine {
  readonly line: string;
  readonly time: Instant;
}

/** In the order of their times. */
export function timedLines(lines: readonly string[]): TimedLine[] {
  const timed = lines.map((line) => ({ line, time: parseDmsLine(line, NOW).observedAt }));
  return timed.sort((one, other) => compareInstants(one.time, other.time));
}

const replayedUpTo = (timed: readonly TimedLine[], at: Instant) =>
  replayLines(timed.filter(({ time }) => time <= at).map(({ line }) => line));

/**
 * Takes random pairs of times, at and beside those of observations, of random domains by their canonical names, and compares what a service answers with
 * replays of the observations up to them: the domain as of the earlier one, byte for byte but for lastUpdate, which is the time of
 * one of them; the difference; and the changes between.
 */
export async function expectInstants(
  url: string,
  lines: ReadonlyMap<string, readonly TimedLine[]>,
  { seed, count }: { readonly seed: number; readonly count: number },
): Promise<void> {
  const domains = [...lines];
  const places = fc.sample(fc.tuple(fc.nat(), fc.nat(), fc.nat()), { seed, numRuns: count });
  const pairs = places.map(([of, one, other]): Pair => {
    const [domain = '', timed = []] = domains[of % domains.length] ?? [];
    const timeAt = (place: number) =>
      (timed[(place >> 2) % timed.length]?.time ?? 0n) + BigInt((place % 3) - 1);
    const [from = 0n, to = 0n] = [timeAt(one), timeAt(other)].sort(compareInstants);
    const message = `seed ${seed}: ${domain} from ${formatInstant(from)} to ${formatInstant(to)}`;
    return { domain, timed, from, to, message };
  });
  while (pairs.length > 0) await Promise.all(pairs.splice(0, 8).map((pair) => expectPair(url, pair)));
}

interface Pair {
  readonly domain: string;
  readonly timed: readonly TimedLine[];
  readonly from: Instant;
  readonly to: Instant;
  readonly message: string;
}

async function expectPair(url: string, { domain, timed, from, to, message }: Pair): Promise<void> {
  const times = { from: formatInstant(from), to: formatInstant(to) };
  const [before, after] = [replayedUpTo(timed, from), replayedUpTo(timed, to)];
  const [then, diff, changes] = await Promise.all([
    answersOf(url, [domain], `?at=${times.from}`),
    answersOf(url, [domain], `/diff?from=${times.from}&to=${times.to}`),
    allChanges(url, `domain/${domain}/changes`, Object.entries({ ...times, first: '100' })),
  ]);
  const expected = bodies(before).get(domain);
  const answer = then.get(domain) ?? '';
  if (expected === undefined) expect(answer, message).toContain('DOMAIN_NOT_FOUND');
  else {
    const known = timed.filter(({ time }) => time <= from).map(({ time }) => formatInstant(time));
    expect(known, message).toContain(LAST_UPDATE.exec(answer)?.[1]);
    expect(answer.replace(LAST_UPDATE, ''), message).toBe(expected.replace(LAST_UPDATE, ''));
  }
  expect(diff.get(domain), message).toBe(
    diffBody(before.get(domain), after.get(domain), { domain, ...times }),
  );
  const history = after.get(domain);
  const expectedChanges = history === undefined ? [] : changeItems(history);
  expect(
    changes.map(({ id: _id, rdata: _rdata, ...change }) => change),
    message,
  ).toEqual(expectedChanges.filter(({ date }) => date > times.from));
}

const LAST_UPDATE = /"lastUpdate":"([^"]+)"/;

export interface ChangeItem {
  readonly id: string;
  readonly domain: string;
  readonly kind: string;
  readonly routine: string | null;
  readonly data?: { readonly type: string };
  readonly rdata?: string;
  readonly name?: string;
}

/** Parameters of a request, of which some may be there several times. */
export type Query = [name: string, value: string][];

/** The changes of all pages. @param path After `/api/v1/`. @throws unless there are answers. */
export async function allChanges(url: string, path: string, query: Query): Promise<ChangeItem[]> {
  const found: ChangeItem[] = [];
  const parameters = new URLSearchParams(query);
  for (;;) {
    const answer = await fetch(`${url}/api/v1/${path}?${parameters}`);
    expect(answer.status).toBe(200);
    const { changes, next }: { changes: ChangeItem[]; next: string | null } = JSON.parse(await answer.text());
    expect(changes.length).toBeLessThanOrEqual(Number(parameters.get('first') ?? 100));
    found.push(...changes);
    // The feed has a cursor after its end, too.
    const isMore = changes.length > 0 || answer.headers.get('link')?.includes('next') === true;
    if (next === null || !isMore) return found;
    parameters.set('after', next);
  }
}
