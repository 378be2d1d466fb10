/** The rules of recording, one domain and one observation at a time: nothing but Maps and comparisons of times. */

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

/** Of a record its entry, of a header its name and values, of the site its status as text. */
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

export class DomainHistory {
  readonly domain: string;
  created: string | undefined;
  lastUpdate: string | undefined;
  /** Every stay of a record, removed or not. */
  readonly entries: Entry[] = [];
  /** By name, oldest first. */
  readonly headers = new Map<string, HeaderItem[]>();
  /** Headers of the latest observation of them, by name. */
  present = new Map<string, string>();
  /** When the headers that are gone were last seen, by name. */
  readonly lastSeen = new Map<string, string>();
  status: number | undefined;
  /** Time of the latest observation of each part. */
  readonly latest = new Map<string, string>();
  readonly changes: Change[] = [];

  constructor(domain: string) {
    this.domain = domain;
  }
}

/** The part of HTTP headers; no DNS type has a name in lower case. */
export const HTTP = 'http';

/** The part of all DNS types that nobody asked for by name. */
const EVERY_TYPE = 'every type';

/** Records an observation of the history's domain: it acts on the parts whose latest observation is older, and on no other. */
export function record(history: DomainHistory, observation: Observation): void {
  const { time, status } = observation;
  const acted = observedParts(history, observation).filter((part) => (latestOf(history, part) ?? '') < time);
  if (acted.length === 0) return;
  const first = new Set(acted.filter((part) => latestOf(history, part) === undefined));
  const told = history.changes.length;
  for (const part of acted) {
    if (part === HTTP) actOnHeaders(history, observation);
    else actOnType(history, part, observation);
  }
  const isFirst = ({ kind, entry }: Change) =>
    kind !== 'SITE_STATUS_CHANGED' && first.has(entry === undefined ? HTTP : String(entry.data['type']));
  judge(history, history.changes.slice(told), isFirst, status);
  for (const part of acted) history.latest.set(part, time);
  if (history.created === undefined || time < history.created) history.created = time;
  if (history.lastUpdate === undefined || time > history.lastUpdate) history.lastUpdate = time;
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
  return (own ?? '') > (common ?? '') ? own : common;
}

function actOnType(history: DomainHistory, type: string, { time, source, records = [] }: Observation): void {
  const own = records.filter((data) => data['type'] === type);
  const observed = new Map(own.map((data) => [JSON.stringify(data), data]));
  const lastSeen = latestOf(history, type) ?? time;
  const base = { date: time, source, routine: null };
  for (const entry of history.entries) {
    if (entry.data['type'] !== type || entry.removed !== null) continue;
    // What is left of the observed ones has come.
    if (observed.delete(JSON.stringify(entry.data))) continue;
    entry.removed = time;
    history.changes.push({ ...base, kind: 'DNS_RECORD_REMOVED', entry, lastSeen });
  }
  for (const data of observed.values()) {
    const entry = { data, firstSeen: time, removed: null };
    history.entries.push(entry);
    history.changes.push({ ...base, kind: 'DNS_RECORD_ADDED', entry });
  }
}

/** A header that is missing changes nothing, and neither does its return with the value it had. */
function actOnHeaders(history: DomainHistory, observation: Observation): void {
  const { time, source, headers = new Map<string, string>(), status } = observation;
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
  }
  history.present = headers;
  const { status: old } = history;
  if (old !== undefined && status !== undefined && status !== old) {
    history.changes.push({ ...base, kind: 'SITE_STATUS_CHANGED', old: String(old), new: String(status) });
  }
  history.status = status ?? old;
}

function valueChange(history: DomainHistory, name: string, old: string | null, time: string) {
  if (old === null) return { kind: 'HEADER_CREATED' };
  const lastSeen = history.present.has(name) ? latestOf(history, HTTP) : history.lastSeen.get(name);
  return { kind: 'HEADER_UPDATED', lastSeen: lastSeen ?? time };
}
