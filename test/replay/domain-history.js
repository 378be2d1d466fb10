/**
 * The rules of recording, one domain and one observation at a time: nothing but Maps and
 * comparisons of times.
 */

import { judge } from './routine.js';

/** @typedef {import('./observation.js').Observation} Observation */
/** @typedef {import('./observation.js').RecordData} RecordData */

/** @typedef {{ data: RecordData, firstSeen: string, removed: string | null }} Entry */
/** @typedef {{ date: string, value: string }} HeaderItem */

/**
 * What one observation changed: of a record its entry, of a header its name and values, of the site its status as text.
 *
 * @typedef {object} Change
 * @property {string} kind
 * @property {string} date
 * @property {string | null} source
 * @property {'INITIAL' | 'SERIAL_ONLY' | 'ADDRESS_HINT' | 'VALIDATOR' | 'NONCE_ONLY' | 'ROTATING' | 'ERROR_PAGE' | null} routine why it is not notable
 * @property {Entry} [entry]
 * @property {string} [name]
 * @property {string | null} [old]
 * @property {string | null} [new]
 * @property {string} [lastSeen] of what is gone or replaced: the time of the part's latest observation that held it
 */

/**
 * @typedef {object} DomainHistory
 * @property {string} domain
 * @property {string | undefined} created
 * @property {string | undefined} lastUpdate
 * @property {Entry[]} entries every stay of a record, removed or not
 * @property {Map<string, HeaderItem[]>} headers by name, oldest first
 * @property {Map<string, string>} present headers of the latest observation of them, by name
 * @property {Map<string, string>} lastSeen when the headers that are gone were last seen, by name
 * @property {number | undefined} status of the site's latest response
 * @property {Map<string, string>} latest time of the latest observation of each part
 * @property {Change[]} changes in the order of recording
 */

/** @typedef {'acts' | 'again' | 'stale'} Standing what an observation may do to a part */

/**
 * @typedef {object} Outcome
 * @property {'recorded' | 'repeated' | 'stale'} outcome
 * @property {boolean} changed whether a record or a header's value came, went, or became another
 */

/** The part of HTTP headers; no DNS type has a name in lower case. */
export const HTTP = 'http';

/** The part of all DNS types that nobody asked for by name. */
const EVERY_TYPE = 'every type';

/**
 * @param {string} domain
 * @returns {DomainHistory}
 */
export function newHistory(domain) {
  return {
    domain,
    created: undefined,
    lastUpdate: undefined,
    entries: [],
    headers: new Map(),
    present: new Map(),
    lastSeen: new Map(),
    status: undefined,
    latest: new Map(),
    changes: [],
  };
}

/**
 * Records an observation of the history's domain: it acts on the parts whose latest observation is
 * older, and on no other.
 *
 * @param {DomainHistory} history changed in place
 * @param {Observation} observation
 * @returns {Outcome}
 */
export function record(history, observation) {
  const parts = observedParts(history, observation).map((part) => ({
    part,
    standing: standingOf(latestOf(history, part), observation.time),
  }));
  const acted = parts.filter(({ standing }) => standing === 'acts').map(({ part }) => part);
  if (acted.length === 0) {
    const stale = parts.some(({ standing }) => standing === 'stale');
    return { outcome: stale ? 'stale' : 'repeated', changed: false };
  }
  const first = new Set(acted.filter((part) => latestOf(history, part) === undefined));
  const told = history.changes.length;
  const changes = acted.map((part) => actOn(history, part, observation));
  const isFirst = (/** @type {Change} */ { kind, entry }) =>
    kind !== 'SITE_STATUS_CHANGED' && first.has(entry === undefined ? HTTP : String(entry.data['type']));
  judge(history, history.changes.slice(told), isFirst, observation.status);
  noteTimes(history, acted, observation.time);
  return { outcome: 'recorded', changed: changes.includes(true) };
}

/**
 * The parts that an observation speaks of. One of every type speaks of the types known so far, of
 * those that it brings, and of all the others together.
 *
 * @param {DomainHistory} history
 * @param {Observation} observation
 * @returns {string[]}
 */
function observedParts(history, { records, types, headers }) {
  const parts = headers === undefined ? [] : [HTTP];
  if (records === undefined) return parts;
  if (types !== undefined) return [...parts, ...new Set(types)];
  const known = [...history.latest.keys()].filter((part) => part !== HTTP);
  const present = history.entries.map(({ data }) => String(data['type']));
  const brought = records.map(({ type }) => String(type));
  return [...parts, ...new Set([EVERY_TYPE, ...known, ...present, ...brought])];
}

/**
 * The time of a part's latest observation.
 *
 * @param {DomainHistory} history
 * @param {string} part
 * @returns {string | undefined}
 */
export function latestOf(history, part) {
  const own = history.latest.get(part);
  const common = part === HTTP ? undefined : history.latest.get(EVERY_TYPE);
  if (own === undefined || common === undefined) return own ?? common;
  return own > common ? own : common;
}

/**
 * @param {string | undefined} latest
 * @param {string} time
 * @returns {Standing}
 */
function standingOf(latest, time) {
  if (latest === undefined || latest < time) return 'acts';
  return latest === time ? 'again' : 'stale';
}

/**
 * @param {DomainHistory} history
 * @param {string} part
 * @param {Observation} observation
 * @returns {boolean} whether anything changed
 */
function actOn(history, part, observation) {
  if (part === HTTP) return actOnHeaders(history, observation);
  return actOnType(history, part, observation);
}

/**
 * @param {DomainHistory} history
 * @param {string} type
 * @param {Observation} observation
 * @returns {boolean}
 */
function actOnType(history, type, { time, source, records: all = [] }) {
  const records = all.filter((data) => data['type'] === type);
  const present = new Map();
  for (const entry of history.entries) {
    if (entry.data['type'] === type && entry.removed === null) present.set(JSON.stringify(entry.data), entry);
  }
  const observed = new Map(records.map((data) => [JSON.stringify(data), data]));
  const gone = [...present].filter(([key]) => !observed.has(key));
  const come = [...observed].filter(([key]) => !present.has(key));
  const lastSeen = latestOf(history, type) ?? time;
  for (const [, entry] of gone) {
    entry.removed = time;
    history.changes.push({ kind: 'DNS_RECORD_REMOVED', date: time, source, routine: null, entry, lastSeen });
  }
  for (const [, data] of come) {
    const entry = { data, firstSeen: time, removed: null };
    history.entries.push(entry);
    history.changes.push({ kind: 'DNS_RECORD_ADDED', date: time, source, routine: null, entry });
  }
  return gone.length + come.length > 0;
}

/**
 * A header that is missing changes nothing, and neither does its return with the value it had.
 *
 * @param {DomainHistory} history
 * @param {Observation} observation
 * @returns {boolean}
 */
function actOnHeaders(history, { time, source, headers = new Map(), status }) {
  let changed = false;
  const { present } = history;
  const base = { date: time, source, routine: null };
  for (const [name, old] of present) {
    if (headers.has(name)) continue;
    const lastSeen = latestOf(history, HTTP) ?? time;
    history.lastSeen.set(name, lastSeen);
    history.changes.push({ ...base, kind: 'HEADER_GONE', name, old, new: null, lastSeen });
  }
  for (const [name, value] of headers) {
    const items = history.headers.get(name) ?? [];
    const old = items.at(-1)?.value ?? null;
    if (old === value) {
      if (!present.has(name)) {
        history.changes.push({ ...base, kind: 'HEADER_RETURNED', name, old: null, new: value });
      }
      continue;
    }
    history.changes.push({ ...base, ...valueChange(history, name, old, time), name, old, new: value });
    history.headers.set(name, [...items, { date: time, value }]);
    changed = true;
  }
  history.present = headers;
  const { status: old } = history;
  if (old !== undefined && status !== undefined && status !== old) {
    history.changes.push({ ...base, kind: 'SITE_STATUS_CHANGED', old: String(old), new: String(status) });
  }
  history.status = status ?? old;
  return changed;
}

/**
 * @param {DomainHistory} history
 * @param {string} name
 * @param {string | null} old
 * @param {string} time
 */
function valueChange(history, name, old, time) {
  if (old === null) return { kind: 'HEADER_CREATED' };
  const lastSeen = history.present.has(name) ? latestOf(history, HTTP) : history.lastSeen.get(name);
  return { kind: 'HEADER_UPDATED', lastSeen: lastSeen ?? time };
}

/**
 * @param {DomainHistory} history
 * @param {string[]} acted
 * @param {string} time
 */
function noteTimes(history, acted, time) {
  for (const part of acted) history.latest.set(part, time);
  if (history.created === undefined || time < history.created) history.created = time;
  if (history.lastUpdate === undefined || time > history.lastUpdate) history.lastUpdate = time;
}
