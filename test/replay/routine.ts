/** The rules of what is routine, from the changes before: each time from all of them. */

import type { Change, DomainHistory } from './domain-history.js';

const DAY = 86_400_000_000n;
const CONTENT = 'etag last-modified content-length content-md5 digest content-digest repr-digest'.split(' ');

export function judge(
  history: DomainHistory,
  changes: readonly Change[],
  isFirst: (change: Change) => boolean,
  status: number | undefined,
): void {
  const before = history.changes.slice(0, history.changes.length - changes.length);
  for (const subject of new Set(changes.map(subjectOf))) {
    const isOfSubject = (change: Change) => subjectOf(change) === subject;
    const earlier = before.filter((change) => isOfSubject(change) && change.routine !== 'ERROR_PAGE');
    judgeSubject(changes.filter(isOfSubject), earlier, isFirst, status ?? 0);
  }
}

/** What changes: the records of one type and owner name, a header, or the status. */
function subjectOf({ kind, entry, name }: Change): string {
  if (kind === 'SITE_STATUS_CHANGED') return kind;
  return entry === undefined ? `header ${name}` : `${entry.data['type']} ${entry.data['host']}`;
}

function judgeSubject(
  ours: readonly Change[],
  earlier: readonly Change[],
  isFirst: (change: Change) => boolean,
  status: number,
): void {
  const had = presentAfter(earlier);
  const has = presentAfter([...earlier, ...ours]);
  for (const change of ours) {
    const isOfError = status >= 500 || change.new === (earlier.at(-1)?.new ?? null);
    if (isFirst(change) && cameWith(change) !== undefined) change.routine = 'INITIAL';
    else if (change.name !== undefined && isOfError) change.routine = 'ERROR_PAGE';
    else change.routine = contentReason(change, had, has);
  }
  const judged = ours.filter(({ routine }) => routine === null);
  const date = ours[0]?.date ?? '';
  const counted = earlier.filter(({ routine }) => routine === null || routine === 'ROTATING');
  const times = [...new Set(counted.map((change) => change.date))].sort().reverse().map(micros);
  const known = new Set([(earlier[0] ?? ours[0])?.old, ...earlier.map(cameWith)]);
  const isNew = judged.some((change) => cameWith(change) !== undefined && !known.has(cameWith(change)));
  if (isRotation(times.slice(0, 10), latestNew(earlier, counted), micros(date), isNew)) {
    for (const change of judged) change.routine = 'ROTATING';
  }
}

/** The values after changes, in which nonces, serials and hints do not count: several records may say the same. */
function presentAfter(changes: readonly Change[]): Set<string> {
  let present: string[] = [];
  for (const change of changes) {
    if (change.entry === undefined) present = [];
    if (change.kind === 'DNS_RECORD_REMOVED') present.splice(present.indexOf(said(change)), 1);
    else if (cameWith(change) !== undefined) present.push(said(change));
  }
  return new Set(present);
}

function said({ entry, new: value, old }: Change): string {
  if (entry === undefined) return String(value ?? old).replace(/'nonce-[^']*'/g, '');
  const { serial: _, ...data } = entry.data;
  if (entry.data['type'] === 'SOA') return JSON.stringify(data);
  return JSON.stringify(entry.data).replace(/ ipv[46]hint=[^ "]*/g, '');
}

/** What a change brought; undefined: nothing. */
function cameWith(change: Change): string | undefined {
  return change.kind === 'DNS_RECORD_REMOVED' || change.kind === 'HEADER_GONE' ? undefined : said(change);
}

function contentReason(change: Change, had: ReadonlySet<string>, has: ReadonlySet<string>) {
  const { entry, kind, name = '' } = change;
  if (CONTENT.includes(name)) return 'VALIDATOR';
  const isSaid = (kind === 'DNS_RECORD_REMOVED' ? has : had).has(said(change));
  if (kind === 'HEADER_GONE' || !isSaid) return null;
  if (entry === undefined) return 'NONCE_ONLY';
  if (entry.data['type'] === 'SOA') return 'SERIAL_ONLY';
  return ['HTTPS', 'SVCB'].includes(String(entry.data['type'])) ? 'ADDRESS_HINT' : null;
}

/** When a value last came that was not there before; the first change counts as one. */
function latestNew(earlier: readonly Change[], counted: readonly Change[]): bigint {
  const ever = new Set<string | null | undefined>([earlier[0]?.old]);
  let latest = counted[0] === undefined ? 0n : micros(counted[0].date);
  for (const change of earlier) {
    const came = cameWith(change);
    if (came === undefined || ever.has(came)) continue;
    ever.add(came);
    if (counted.includes(change)) latest = micros(change.date);
  }
  return latest;
}

function isRotation(times: readonly bigint[], newest: bigint, date: bigint, isNew: boolean): boolean {
  const gaps = times.slice(0, -1).map((time, at) => time - (times[at + 1] ?? 0n));
  const six = gaps.slice(0, 6).sort((a, b) => (a < b ? -1 : 1));
  const median = six[Math.floor(six.length / 2)];
  if (median === undefined) return false;
  const longest = (one: bigint, other: bigint) => (one > other ? one : other);
  const near = times.filter((time) => date - time <= longest(8n * median, 2n * DAY));
  const isWhole = times.length === 10 && date - newest > longest(12n * median, 3n * DAY);
  return near.length >= 3 && !(isNew && isWhole);
}

function micros(date: string): bigint {
  return BigInt(Date.parse(`${date.slice(0, 19)}Z`)) * 1_000n + BigInt(date.slice(20, 26));
}
