/**
 * The rules of what is routine, from the changes before: each time from all of them.
 */

/** @typedef {import('./domain-history.js').Change} Change */
/** @typedef {import('./domain-history.js').DomainHistory} DomainHistory */

const DAY = 86_400_000_000n;
const CONTENT = [
  'etag',
  'last-modified',
  'content-length',
  'content-md5',
  'digest',
  'content-digest',
  'repr-digest',
];

/**
 * Says why the changes of an observation are routine.
 *
 * @param {DomainHistory} history with them
 * @param {Change[]} changes of the observation, which have no reason yet
 * @param {(change: Change) => boolean} isFirst whether its part was not observed before
 * @param {number | undefined} status of the response that had the headers
 */
export function judge(history, changes, isFirst, status) {
  const before = history.changes.slice(0, history.changes.length - changes.length);
  for (const subject of new Set(changes.map(subjectOf))) {
    const ours = changes.filter((change) => subjectOf(change) === subject);
    const isSteady = (/** @type {Change} */ change) => change.routine !== 'ERROR_PAGE';
    const earlier = before.filter((change) => subjectOf(change) === subject && isSteady(change));
    judgeSubject(ours, earlier, isFirst, status ?? 0);
  }
}

/** What changes: the records of one type and owner name, a header, or the status. @param {Change} change */
function subjectOf({ kind, entry, name }) {
  if (kind === 'SITE_STATUS_CHANGED') return kind;
  return entry === undefined ? `header ${name}` : `${entry.data['type']} ${entry.data['host']}`;
}

/**
 * @param {Change[]} ours @param {Change[]} earlier without those of error pages
 * @param {(change: Change) => boolean} isFirst @param {number} status
 */
function judgeSubject(ours, earlier, isFirst, status) {
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
  const times = [...new Set(counted.map((change) => change.date))]
    .map(micros)
    .sort((a, b) => (a > b ? -1 : 1));
  const known = new Set([(earlier[0] ?? ours[0])?.old, ...earlier.map(cameWith)]);
  const isNew = judged.some((change) => cameWith(change) !== undefined && !known.has(cameWith(change)));
  if (isRotation(times.slice(0, 10), latestNew(earlier, counted), micros(date), isNew)) {
    for (const change of judged) change.routine = 'ROTATING';
  }
}

/** The values after changes, in which nonces, serials and hints do not count. @param {Change[]} changes */
function presentAfter(changes) {
  /** @type {Set<string>} */
  const present = new Set();
  for (const change of changes) {
    if (change.entry === undefined) present.clear();
    if (change.kind === 'DNS_RECORD_REMOVED') present.delete(said(change));
    else if (cameWith(change) !== undefined) present.add(said(change));
  }
  return present;
}

/** @param {Change} change */
function said({ entry, new: value, old }) {
  if (entry === undefined) return String(value ?? old).replace(/'nonce-[^']*'/g, '');
  const { serial: _, ...data } = entry.data;
  if (entry.data['type'] === 'SOA') return JSON.stringify(data);
  return JSON.stringify(entry.data).replace(/ ipv[46]hint=[^ "]*/g, '');
}

/** What a change brought; undefined: nothing. @param {Change} change */
function cameWith(change) {
  return change.kind === 'DNS_RECORD_REMOVED' || change.kind === 'HEADER_GONE' ? undefined : said(change);
}

/**
 * @param {Change} change @param {Set<string>} had @param {Set<string>} has
 * @returns {Change['routine']}
 */
function contentReason(change, had, has) {
  const { entry, name = '' } = change;
  if (entry !== undefined) {
    const type = String(entry.data['type']);
    const same = (change.kind === 'DNS_RECORD_REMOVED' ? has : had).has(said(change));
    if (type === 'SOA') return same ? 'SERIAL_ONLY' : null;
    return same && ['HTTPS', 'SVCB'].includes(type) ? 'ADDRESS_HINT' : null;
  }
  if (CONTENT.includes(name)) return 'VALIDATOR';
  return change.kind !== 'HEADER_GONE' && had.has(said(change)) ? 'NONCE_ONLY' : null;
}

/**
 * When a value last came that was not there before; the first change counts as one.
 *
 * @param {Change[]} earlier @param {Change[]} counted of these, those that were not routine by what is in them
 */
function latestNew(earlier, counted) {
  /** @type {Set<string | null | undefined>} */
  const ever = new Set([earlier[0]?.old]);
  let latest = counted[0] === undefined ? 0n : micros(counted[0].date);
  for (const change of earlier) {
    const came = cameWith(change);
    if (came === undefined || ever.has(came)) continue;
    ever.add(came);
    if (counted.includes(change)) latest = micros(change.date);
  }
  return latest;
}

/** @param {bigint[]} times the latest first @param {bigint} newest @param {bigint} date @param {boolean} isNew */
function isRotation(times, newest, date, isNew) {
  const gaps = times.slice(0, -1).map((time, at) => time - (times[at + 1] ?? 0n));
  const six = gaps.slice(0, 6).sort((a, b) => (a < b ? -1 : 1));
  const median = six[Math.floor(six.length / 2)];
  if (median === undefined) return false;
  const longest = (/** @type {bigint} */ one, /** @type {bigint} */ other) => (one > other ? one : other);
  const near = times.filter((time) => date - time <= longest(8n * median, 2n * DAY));
  const isWhole = times.length === 10 && date - newest > longest(12n * median, 3n * DAY);
  return near.length >= 3 && !(isNew && isWhole);
}

/** @param {string} date with microseconds */
function micros(date) {
  return BigInt(Date.parse(`${date.slice(0, 19)}Z`)) * 1_000n + BigInt(date.slice(20, 26));
}
