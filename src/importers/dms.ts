import { LRUCache } from 'lru-cache';
import { NOT, OTHER_TYPES } from '../history/state.js';
import { type DnsRecord, parseDnsRecord, recordsByType } from '../model/dns-record.js';
import { requireType } from '../model/dns-types.js';
import { parseDomainName } from '../model/domain-name.js';
import { invalidValue } from '../model/errors.js';
import { addHeaderField, joinHeaderFields } from '../model/header-fields.js';
import type { Instant } from '../model/instant.js';
import { isJsonObject, readAt, requireKey, requireText, requireTexts } from '../model/json-values.js';
import { type DnsObservation, isStatus, type Observation, type SiteResponse } from '../model/observation.js';
import { parseSourceName, quoted } from '../model/text.js';
import { type Json, parseJsonLine, parseObservedAt } from './json-line.js';

const KEYS = new Set('domain observedAt dnsRecords dnsTypes httpHeaders site sighted source'.split(' '));
const SITE_KEYS = new Set(['scheme', 'status']);

/** How a line begins where its domain and its time come first and without escapes. */
const HEAD = /^\{"domain": ?"([\w.-]+)", ?"observedAt": ?"([\w:.+-]+)", ?(?=")/;

type Body = Pick<Observation, 'dns' | 'httpHeaders' | 'response' | 'source'>;

interface LatestLine {
  /** What comes after its time. */
  readonly rest: string;
  readonly domain: string;
  readonly body: Body;
}

/** In place of a domain's first line: those of many domains that come once each would fill the memory. */
const FIRST: LatestLine = { rest: '', domain: '', body: {} };

/**
 * The latest line of each domain, by its name there: the next one nearly always says the same at another
 * time, and comparing texts costs a fraction of parsing them. Sizes are in characters, some 25 MB with what
 * the lines were parsed to.
 */
const latestLines = new LRUCache<string, LatestLine>({
  maxSize: 3_000_000,
  sizeCalculation: ({ rest }, { length }) => rest.length + length,
});

/**
 * Lines of one domain that differ only in their times may give the same `dns` and `httpHeaders` objects.
 *
 * @throws InvalidObservationError that names the key and the reason, for the line as a whole.
 */
export function parseDmsLine(line: string, now: Instant): Observation {
  const [{ length } = '', name = '', time] = HEAD.exec(line) ?? [];
  const rest = line.slice(length);
  // To keep the order of use would cost as much as the comparison.
  const latest = latestLines.peek(name);
  if (latest?.rest === rest)
    return { domain: latest.domain, observedAt: parseObservedAt('observedAt', time, now), ...latest.body };
  const object = parseJsonLine(line);
  for (const key in object) requireKey(key, KEYS);
  const text = readAt('domain', () => requireText(object['domain']));
  const domain = readAt('domain', () => parseDomainName(text));
  const observedAt = parseObservedAt('observedAt', object['observedAt'], now);
  const body = parseBody(object);
  // The name is a text of its own: HEAD's would keep its whole line in memory.
  if (length > 0) latestLines.set(text, latest === undefined ? FIRST : { rest, domain, body });
  return { domain, observedAt, ...body };
}

function parseBody(object: Json): Body {
  const { dnsRecords, dnsTypes, httpHeaders, site, sighted, source } = object;
  const body: { -readonly [Key in keyof Body]: Body[Key] } = {};
  const dns = parseDns(dnsRecords, dnsTypes);
  if (sighted !== undefined) requireSightings(object);
  if (dns !== undefined) body.dns = sighted === undefined ? dns : sightingsIn(dns);
  if (httpHeaders !== undefined) body.httpHeaders = parseHeaders(httpHeaders);
  if (site !== undefined) body.response = readAt('site', () => parseSite(site, httpHeaders));
  if (source !== undefined) body.source = readAt('source', () => parseSourceName(requireText(source)));
  if (dnsRecords === undefined && httpHeaders === undefined)
    throw invalidValue('it has neither dnsRecords nor httpHeaders: nothing was observed.');
  return body;
}

function parseSite(site: unknown, headers: unknown): SiteResponse {
  if (headers === undefined) throw invalidValue('it is where httpHeaders came from, which the line has not.');
  if (!isJsonObject(site)) throw invalidValue('it is not an object.');
  for (const key in site) requireKey(key, SITE_KEYS);
  const { scheme, status } = site;
  if (scheme !== 'https' && scheme !== 'http') throw invalidValue('scheme: it is neither https nor http.');
  if (!isStatus(status)) throw invalidValue('status: it is not a number from 100 to 999.');
  return { scheme, status, address: null };
}

function requireSightings({ sighted, dnsRecords, dnsTypes, httpHeaders }: Json): void {
  const hasRecords = Array.isArray(dnsRecords) && dnsRecords.length > 0;
  if (sighted === true && hasRecords && dnsTypes === undefined && httpHeaders === undefined) return;
  throw invalidValue(
    'sighted: only a line with dnsRecords, and without dnsTypes and httpHeaders, has it, and only as true.',
  );
}

export function sightingsIn({ records }: Pick<DnsObservation, 'records'>): DnsObservation {
  return { types: new Set(records.keys()), sighted: true, records };
}

function parseDns(dnsRecords: unknown, dnsTypes: unknown): DnsObservation | undefined {
  const types = dnsTypes === undefined ? {} : readAt('dnsTypes', () => parseTypes(requireTexts(dnsTypes)));
  if (dnsRecords !== undefined)
    return { ...types, records: recordsByType(parseRecords(dnsRecords, types.types)) };
  if (dnsTypes === undefined) return undefined;
  throw invalidValue('dnsTypes: the line has no dnsRecords, the answer for these types.');
}

function parseTypes(texts: readonly string[]): Pick<DnsObservation, 'types' | 'notOther'> {
  if (!texts.includes(OTHER_TYPES)) return { types: new Set(texts.map(requireType)) };
  const isNot = (text: string) => text.startsWith(NOT);
  const named = texts.filter((text) => text !== OTHER_TYPES && !isNot(text));
  return {
    types: new Set([...named.map(requireType), OTHER_TYPES]),
    notOther: new Set(texts.filter(isNot).map((text) => requireType(text.slice(NOT.length)))),
  };
}

function parseRecords(value: unknown, types: ReadonlySet<string> | undefined): DnsRecord[] {
  if (!Array.isArray(value)) throw invalidValue('dnsRecords: it is not an array of records.');
  const records: DnsRecord[] = [];
  const place = () => `dnsRecords[${records.length}]`;
  readAt(place, () => {
    for (const data of value) {
      const record = parseDnsRecord(data);
      if (types?.has(record.type) === false)
        throw invalidValue(`its type ${record.type} is not in dnsTypes.`);
      records.push(record);
    }
  });
  return records;
}

function parseHeaders(given: unknown): ReadonlyMap<string, string> {
  if (!isJsonObject(given)) throw invalidValue('httpHeaders: it is not an object.');
  const headers = new Map<string, string[]>();
  let at = '';
  const place = () => `httpHeaders[${quoted(at)}]`;
  readAt(place, () => {
    for (const [name, value] of Object.entries(given)) {
      at = name;
      const texts = typeof value === 'string' ? [value] : requireTexts(value);
      for (const text of texts) addHeaderField(headers, name, text);
    }
  });
  return joinHeaderFields(headers);
}
