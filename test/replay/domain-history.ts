/**
 * The rules of recording, one domain and one observation at a time: nothing but Maps and
 * comparisons of times.
 */

import type { Observation, RecordData } from './observation.js';
import { judge } from './routine.js';

export interface Entry {
  readonly data: RecordData;
  readonly firstSeen: string;
  removed: string | null;
}

export interface HeaderItem {
  readonly date: string;
  readonly value: string;
}

/** What one observation changed: of a record its entry, of a header its name and values, of the site its status as text. */
export interface Change {
  readonly kind: string;
  readonly date: string;
  readonly source: string | null;
  /** Why it is not notable. */
  routine:
    | ('INITIAL' | 'SERIAL_ONLY' | 'ADDRESS_HINT' | 'VALIDATOR' | 'NONCE_ONLY' | 'ROTATING' | 'ERROR_PAGE')
    | null;
  readonly entry?: Entry | undefined;
  readonly name?: string | undefined;
  readonly old?: string | null | undefined;
  readonly new?: string | null | undefined;
  /** Of what is gone or replaced: the time of the part's latest observation that held it. */
  readonly lastSeen?: string | undefined;
}

export interface DomainHistory {
  readonly domain: string;
  created: string | undefined;
  lastUpdate: string | undefined;
  /** Every stay of a record, removed or not. */
  readonly entries: Entry[];
  /** By name, oldest first. */
  readonly headers: Map<string, HeaderItem[]>;
  /** Headers of the latest observation of them, by name. */
  present: Map<string, string>;
  /** When the headers that are gone were last seen, by name. */
  readonly lastSeen: Map<string, string>;
  status: number | undefined;
  /** Time of the latest observation of each part. */
  readonly latest: Map<string, string>;
  readonly changes: Change[];
}

export interface Outcome {
  readonly outcome: 'recorded' | 'repeated' | 'stale';
  /** Whether a record or a header's value came, went, or became another. */
  readonly changed: boolean;
}

/** The part of HTTP headers; no DNS type has a name in lower case. */
export const HTTP = 'http';

/** The part of all DNS types that nobody asked for by name. */
const EVERY_TYPE = 'every type';

export function newHistory(domain: string): DomainHistory {
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
 */
export function record(history: DomainHistory, observation: Observation): Outcome {
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
  const isFirst = ({ kind, entry }: Change) =>
    kind !== 'SITE_STATUS_CHANGED' && first.has(entry === undefined ? HTTP : String(entry.data['type']));
  judge(history, history.changes.slice(told), isFirst, observation.status);
  noteTimes(history, acted, observation.time);
  return { outcome: 'recorded', changed: changes.includes(true) };
}

/**
 * The parts that an observation speaks of. One of every type speaks of the types known so far, of
 * those that it brings, and of all the others together.
 */
function observedParts(history: DomainHistory, { records, types, headers }: Observation): string[] {
  const parts = headers === undefined ? [] : [HTTP];
  if (records === undefined) return parts;
  if (types !== undefined) return [...parts, ...new Set(types)];
  const known = [...history.latest.keys()].filter((part) => part !== HTTP);
  const present = history.entries.map(({ data }) => String(data['type']));
  const brought = records.map(({ type }) => String(type));
  return [...parts, ...new Set([EVERY_TYPE, ...known, ...present, ...brought])];
}

export function latestOf(history: DomainHistory, part: string): string | undefined {
  const own = history.latest.get(part);
  const common = part === HTTP ? undefined : history.latest.get(EVERY_TYPE);
  if (own === undefined || common === undefined) return own ?? common;
  return own > common ? own : common;
}

function standingOf(latest: string | undefined, time: string): 'acts' | 'again' | 'stale' {
  if (latest === undefined || latest < time) return 'acts';
  return latest === time ? 'again' : 'stale';
}

function actOn(history: DomainHistory, part: string, observation: Observation): boolean {
  if (part === HTTP) return actOnHeaders(history, observation);
  return actOnType(history, part, observation);
}

function actOnType(
  history: DomainHistory,
  type: string,
  { time, source, records: all = [] }: Observation,
): boolean {
  const records = all.filter((data) => data['type'] === type);
  const present = new Map<string, Entry>();
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

/** A header that is missing changes nothing, and neither does its return with the value it had. */
function actOnHeaders(history: DomainHistory, observation: Observation): boolean {
  const { time, source, headers = new Map<string, string>(), status } = observation;
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

function valueChange(history: DomainHistory, name: string, old: string | null, time: string) {
  if (old === null) return { kind: 'HEADER_CREATED' };
  const lastSeen = history.present.has(name) ? latestOf(history, HTTP) : history.lastSeen.get(name);
  return { kind: 'HEADER_UPDATED', lastSeen: lastSeen ?? time };
}

function noteTimes(history: DomainHistory, acted: readonly string[], time: string): void {
  for (const part of acted) history.latest.set(part, time);
  if (history.created === undefined || time < history.created) history.created = time;
  if (history.lastUpdate === undefined || time > history.lastUpdate) history.lastUpdate = time;
}
