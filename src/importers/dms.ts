import { NOT, OTHER_TYPES } from '../history/state.js';
import { type DnsRecord, parseDnsRecord, recordsByType } from '../model/dns-record.js';
import { requireType } from '../model/dns-types.js';
import { parseDomainName } from '../model/domain-name.js';
import { InvalidObservationError } from '../model/errors.js';
import { addHeaderField, joinHeaderFields } from '../model/header-fields.js';
import type { Instant } from '../model/instant.js';
import {
  errorAt,
  isJsonObject,
  readAt,
  requireText,
  requireTexts,
  unknownKey,
} from '../model/json-values.js';
import { type DnsObservation, isStatus, type Observation, type SiteResponse } from '../model/observation.js';
import { parseSourceName, quoted } from '../model/text.js';
import { type Json, parseJsonLine, parseObservedAt } from './json-line.js';
import { LatestLines } from './latest-lines.js';

const KEYS = new Set([
  ...['domain', 'observedAt', 'dnsRecords', 'dnsTypes', 'httpHeaders', 'site', 'sighted', 'source'],
]);
const SITE_KEYS = new Set(['scheme', 'status']);

/** How a line begins where its domain and its time come first and without escapes. */
const HEAD = /^\{"domain": ?"([\w.-]+)", ?"observedAt": ?"([\w:.+-]+)", ?(?=")/;

/** What a line contains besides its domain and time. */
type Body = Pick<Observation, 'dns' | 'httpHeaders' | 'response' | 'source'>;

const latestLines = new LatestLines<{ readonly domain: string; readonly body: Body }>();

/**
 * An observation from a line of format `dms`: one JSON object with the keys `domain`, `observedAt`, and
 * optionally `dnsRecords` (the complete set of records), `dnsTypes` (the types that it is complete for),
 * `httpHeaders` (name to value or values), `site` (where these came from), `sighted` (the records were seen, and nothing else is
 * known) and `source`. Lines of one domain that differ only in their times may give the same `dns` and `httpHeaders` objects.
 *
 * @param now The present, which no observation may be ahead of by more than five minutes.
 * @throws InvalidObservationError for a line that cannot be accepted as a whole. The message, one line,
 * names the key and the reason.
 */
export function parseDmsLine(line: string, now: Instant): Observation {
  const [{ length } = '', name = '', time] = HEAD.exec(line) ?? [];
  const rest = line.slice(length);
  const latest = latestLines.get(name, rest);
  if (latest !== undefined) {
    return { domain: latest.domain, observedAt: parseObservedAt('observedAt', time, now), ...latest.body };
  }
  const object = parseJsonLine(line);
  for (const key in object) if (!KEYS.has(key)) throw unknownKey(key, KEYS);
  const text = readAt('domain', () => requireText(object['domain']));
  const domain = readAt('domain', () => parseDomainName(text));
  const observedAt = parseObservedAt('observedAt', object['observedAt'], now);
  const body = parseBody(object);
  if (length > 0) latestLines.set(text, rest, { domain, body });
  return { domain, observedAt, ...body };
}

function parseBody(object: Json): Body {
  const { dnsRecords, httpHeaders, source } = object;
  const body: { -readonly [Key in keyof Body]: Body[Key] } = {};
  const dns = parseDns(dnsRecords, object['dnsTypes']);
  const isSighted = object['sighted'] !== undefined;
  if (isSighted) requireSightings(object);
  if (dns !== undefined) body.dns = isSighted ? sightingsIn(dns) : dns;
  if (httpHeaders !== undefined) body.httpHeaders = parseHeaders(httpHeaders);
  if (object['site'] !== undefined)
    body.response = readAt('site', () => parseSite(object['site'], httpHeaders));
  if (source !== undefined) body.source = readAt('source', () => parseSourceName(requireText(source)));
  if (dnsRecords === undefined && httpHeaders === undefined) {
    throw new InvalidObservationError('it has neither dnsRecords nor httpHeaders: nothing was observed.');
  }
  return body;
}

/** The response that the headers are of. */
function parseSite(site: unknown, headers: unknown): SiteResponse {
  if (headers === undefined)
    throw new InvalidObservationError('it is where httpHeaders came from, which the line has not.');
  if (!isJsonObject(site)) throw new InvalidObservationError('it is not an object.');
  for (const key in site) if (!SITE_KEYS.has(key)) throw unknownKey(key, SITE_KEYS);
  const { scheme, status } = site;
  if (scheme !== 'https' && scheme !== 'http')
    throw new InvalidObservationError('scheme: it is neither https nor http.');
  if (!isStatus(status)) throw new InvalidObservationError('status: it is not a number from 100 to 999.');
  return { scheme, status, address: null };
}

/** @throws InvalidObservationError for what cannot be sightings. */
function requireSightings({ sighted, dnsRecords, ...others }: Json): void {
  if (sighted !== true) throw new InvalidObservationError('sighted: it is not true; leave it out otherwise.');
  for (const key of ['dnsTypes', 'httpHeaders']) {
    if (others[key] !== undefined)
      throw new InvalidObservationError(`${key}: a line with sighted tells of its dnsRecords alone.`);
  }
  if (!Array.isArray(dnsRecords) || dnsRecords.length === 0)
    throw new InvalidObservationError('sighted: the line has no dnsRecords that were seen.');
}

function sightingsIn({ records }: DnsObservation): DnsObservation {
  return { types: new Set(records.keys()), sighted: true, records };
}

function parseDns(dnsRecords: unknown, dnsTypes: unknown): DnsObservation | undefined {
  const types =
    dnsTypes === undefined ? undefined : readAt('dnsTypes', () => parseTypes(requireTexts(dnsTypes)));
  if (dnsRecords !== undefined) {
    const records = recordsByType(parseRecords(dnsRecords, types?.types));
    return types === undefined ? { records } : { ...types, records };
  }
  if (types === undefined) return undefined;
  throw new InvalidObservationError('dnsTypes: the line has no dnsRecords, the answer for these types.');
}

/** @param texts Types, and OTHER_TYPES with types that are not among them. */
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
  if (!Array.isArray(value)) throw new InvalidObservationError('dnsRecords: it is not an array of records.');
  const records: DnsRecord[] = [];
  for (const data of value) {
    try {
      records.push(recordOfTypes(data, types));
    } catch (error) {
      throw errorAt(`dnsRecords[${records.length}]`, error);
    }
  }
  return records;
}

function recordOfTypes(data: unknown, types: ReadonlySet<string> | undefined): DnsRecord {
  const record = parseDnsRecord(data);
  if (types === undefined || types.has(record.type)) return record;
  throw new InvalidObservationError(`its type ${record.type} is not in dnsTypes.`);
}

function parseHeaders(value: unknown): ReadonlyMap<string, string> {
  if (!isJsonObject(value)) throw new InvalidObservationError('httpHeaders: it is not an object.');
  const headers = new Map<string, string[]>();
  for (const [name, given] of Object.entries(value)) {
    // Without readAt, for which each name would be quoted, whether or not it is wrong.
    try {
      for (const text of valuesOf(given)) addHeaderField(headers, name, text);
    } catch (error) {
      throw errorAt(`httpHeaders[${quoted(name)}]`, error);
    }
  }
  return joinHeaderFields(headers);
}

function valuesOf(given: unknown): readonly string[] {
  if (typeof given === 'string') return [given];
  if (Array.isArray(given)) return requireTexts(given);
  throw new InvalidObservationError('it is neither a string nor an array of strings.');
}
