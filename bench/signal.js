/**
 * How many of the changes of a simulated internet are shown as notable, by what caused them, and how many of those that matter. See README.md.
 */

import { parseArgs } from 'node:util';
import { printTable, whole } from './report.js';
import { domainOf } from './signal/domains.js';
import { Random } from './signal/random.js';

/** @typedef {import('./signal/domains.js').Domain} Domain @typedef {import('./signal/domains.js').Subject} Subject */

/** The rules as they are built. @type {typeof import('../src/history/routine.js')} */
const { judgeByEarlier, noChanges, routineOfHeader, routineOfRecord, withoutFollowing, withoutNonce } =
  await import(new URL('../dist/history/routine.js', import.meta.url).href);

const { values: options } = parseArgs({
  options: {
    domains: { type: 'string', default: '300' },
    days: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
  },
});
const HOURS = Number(options.days) * 24;
const HOUR = 3_600_000_000;

/**
 * What is known of a subject, as it is recorded.
 *
 * @typedef {object} Known
 * @property {readonly string[]} present
 * @property {readonly string[]} good what the last response below 500 had
 * @property {import('../src/history/routine.js').EarlierChanges | undefined} earlier
 */

/** @typedef {{ cause: string, isSignal: boolean, isShown: boolean, happening?: object | undefined }} Told */

/**
 * Looks at a domain again and again, and judges what changed.
 *
 * @param {Domain} domain @param {number} every in hours @param {Random} random
 * @returns {Told[]}
 */
function changesOf(domain, every, random) {
  /** @type {Map<Subject, Known>} */
  const known = new Map();
  /** @type {Told[]} */
  const told = [];
  let since = -1;
  for (let hour = random.next() * every; hour < HOURS; hour += every * (0.95 + random.next() * 0.1)) {
    if (!domain.answers(hour)) continue;
    for (const subject of domain.subjects) told.push(...changesAt(domain, subject, known, hour, since));
    since = hour;
  }
  return told;
}

/**
 * @param {Domain} domain @param {Subject} subject @param {Map<Subject, Known>} known @param {number} hour
 * @param {number} since when it was looked at before
 * @returns {Told[]}
 */
function changesAt(domain, subject, known, hour, since) {
  const { type, isField, cause } = subject;
  const date = BigInt(Math.round(hour * HOUR));
  const isError = domain.status(hour) >= 500;
  const shown = isError && isField && type !== 'server' ? [] : subject.at(hour);
  const before = known.get(subject);
  if (before === undefined) {
    known.set(subject, { present: shown, good: shown, earlier: undefined });
    return [];
  }
  const added = shown.filter((value) => !before.present.includes(value));
  const changes = [...added, ...before.present.filter((value) => !shown.includes(value))];
  if (changes.length === 0) return [];
  const judged = judge(subject, before, shown, date, isError);
  const happening = domain.happenings.find(
    (each) => each.of.has(subject) && each.hour <= hour && each.hour > since,
  );
  before.present = shown;
  if (!isError) before.good = shown;
  return (isField ? [shown[0] ?? null] : changes).map((value) => ({
    cause,
    isSignal: happening !== undefined,
    happening,
    isShown: judged(value) === null,
  }));
}

/**
 * @param {Subject} subject @param {Known} known @param {readonly string[]} shown @param {bigint} date @param {boolean} isError
 * @returns {(value: string | null) => string | null} why a change is routine
 */
function judge({ type, isField }, known, shown, date, isError) {
  const { present, good } = known;
  if (isField && isError) return () => 'ERROR_PAGE';
  if (isField && String(good) === String(shown)) return () => 'ERROR_PAGE';
  const followed = new Map(
    isField
      ? [[shown[0] ?? null, routineOfHeader(type, good[0] ?? null, shown[0] ?? null)]]
      : [...present, ...shown].map((value) => [
          value,
          routineOfRecord(type, value, present.includes(value) ? shown : present),
        ]),
  );
  if (![...followed.values()].includes(null)) return (value) => followed.get(value) ?? null;
  const said = (/** @type {string} */ value) =>
    isField ? withoutNonce(value) : withoutFollowing(type, value);
  const before = isField ? good : present;
  const earlier = known.earlier ?? noChanges(type, '', date, before.map(said));
  const came = shown.filter((value) => !before.includes(value)).map(said);
  const judged = judgeByEarlier(earlier, date, came);
  known.earlier = judged.earlier;
  return (value) => followed.get(value) ?? (judged.isRotation ? 'ROTATING' : null);
}

for (const every of [1, 6, 24]) {
  /** @type {Told[]} */
  const told = [];
  const happened = new Set();
  for (let at = 0; at < Number(options.domains); at += 1) {
    const seed = Number(options.seed) * 1_000_003 + at;
    const domain = domainOf(seed, HOURS);
    const random = new Random(seed + 1);
    told.push(...changesOf(domain, every, random));
  }
  const signals = told.filter(({ isSignal }) => isSignal);
  const noise = told.filter(({ isSignal }) => !isSignal);
  for (const { happening } of signals) happened.add(happening);
  const seen = new Set(signals.filter(({ isShown }) => isShown).map(({ happening }) => happening));
  const causes = [...new Set(noise.map(({ cause }) => cause))].sort();
  const share = (/** @type {Told[]} */ some) =>
    `${((100 * some.filter(({ isShown }) => isShown).length) / some.length).toFixed(2)} %`;
  console.log(`\nA look every ${every === 1 ? 'hour' : `${every} hours`}: ${whole(told.length)} changes\n`);
  printTable(
    ['what', 'changes', 'shown', 'share'],
    [
      [
        'events, with at least one change',
        happened.size,
        seen.size,
        `${((100 * seen.size) / happened.size).toFixed(1)} %`,
      ],
      [
        'changes that matter',
        signals.length,
        signals.filter(({ isShown }) => isShown).length,
        share(signals),
      ],
      ['all others', noise.length, noise.filter(({ isShown }) => isShown).length, share(noise)],
      ...causes.map((cause) => {
        const some = noise.filter((each) => each.cause === cause);
        return [cause, some.length, some.filter(({ isShown }) => isShown).length, share(some)];
      }),
    ],
  );
}
