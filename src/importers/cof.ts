import { type DnsRecord, parseDnsRecord, recordsByType } from '../model/dns-record.js';
import { canonicalType } from '../model/dns-types.js';
import { parseDomainName } from '../model/domain-name.js';
import { InvalidDomainError, InvalidObservationError } from '../model/errors.js';
import { ancestorsOf } from '../model/host-name.js';
import { formatInstant, type Instant } from '../model/instant.js';
import { isIpv4, isIpv6 } from '../model/ip-address.js';
import { isJsonObject, readAt, requireText, requireTexts } from '../model/json-values.js';
import { fieldOctets } from '../model/master-text.js';
import type { Observation } from '../model/observation.js';
import { parseSourceName, quoted } from '../model/text.js';
import { type Json, shownValue, textRdata } from './dns-answers.js';
import type { ParsedLine } from './import-lines.js';
import { EARLIEST_OF_TOOLS, parseJsonLine, parseObservedAt } from './json-line.js';

const LIMITED =
  'DNSDB did not give all that it has: the answer was cut at the limit that was requested. Query it for the rest.';
const FAILED = 'DNSDB ended its answer with an error: records may be missing. Query it again.';
const CUT = 'The answer of DNSDB has no end, so records may be missing: fetch it again.';

/** Parses the lines of one input. */
export interface CofParser {
  (line: string, now: Instant): ParsedLine;
  /** What the input as a whole could not tell. */
  atEnd(): readonly string[];
}

/**
 * Makes what parses the lines of passive DNS in the Common Output Format (draft-dulaunoy-dnsop-passive-dns-cof): a record that
 * was seen from one time to another. It says nothing of absence: its lines are sightings at both times.
 *
 * DNSDB puts each line into an object, between lines that tell how its answer begins and ends. The service of CIRCL exchanges
 * names and addresses of records that name an address.
 */
export function createCofParser(): CofParser {
  /** Answers of DNSDB that were begun, and that were ended. */
  const answers = { begun: 0, ended: 0 };
  const parse = (text: string, now: Instant): ParsedLine => {
    const line = parseJsonLine(text);
    const { cond, obj } = line;
    if (obj === undefined && cond !== undefined)
      return { observations: [], remarks: remarksOf(cond, answers) };
    return { observations: observationsOf(isJsonObject(obj) ? obj : line, now) };
  };
  return Object.assign(parse, { atEnd: () => (answers.begun > answers.ended ? [CUT] : []) });
}

function remarksOf(cond: unknown, answers: { begun: number; ended: number }): string[] {
  if (cond === 'begin') answers.begun += 1;
  if (cond === 'succeeded' || cond === 'limited' || cond === 'failed') answers.ended += 1;
  return cond === 'limited' ? [LIMITED] : cond === 'failed' ? [FAILED] : [];
}

/** The same records at both times, for each of the domains that the line is of. */
function observationsOf(line: Json, now: Instant): Observation[] {
  const [first, last] = timesOf(line, now);
  const source = sourceOf(line['sensor_id']);
  const byDomain = new Map<string, DnsRecord[]>();
  for (const record of recordsOf(line)) {
    const domain = domainOf(record.host);
    byDomain.set(domain, [...(byDomain.get(domain) ?? []), record]);
  }
  const times = first === last ? [first] : [first, last];
  return [...byDomain].flatMap(([domain, list]) => {
    const records = recordsByType(list);
    const dns = { types: new Set(records.keys()), sighted: true, records };
    return times.map((observedAt) => ({ domain, observedAt, dns, source }));
  });
}

function recordsOf(line: Json): DnsRecord[] {
  const name = readAt('rrname', () => requireText(line['rrname']));
  const type = readAt('rrtype', () => typeOf(line['rrtype']));
  const { rdata } = line;
  const texts = readAt('rdata', () => (Array.isArray(rdata) ? requireTexts(rdata) : [requireText(rdata)]));
  if (texts.length === 0) throw new InvalidObservationError('rdata: it is empty.');
  const isExchanged = (type === 'A' || type === 'AAAA') && (isIpv4(name) || isIpv6(name));
  return texts.map((text) => {
    const { host, data } = isExchanged ? { host: text, data: name } : { host: name, data: text };
    return readAt(isExchanged ? 'rrname' : 'rdata', () =>
      parseDnsRecord({ host, class: 'IN', type, data: rdataOf(type, data) }),
    );
  });
}

function typeOf(value: unknown): string {
  const text = typeof value === 'number' ? `TYPE${value}` : requireText(value);
  const type = canonicalType(/^\d+$/.test(text) ? `TYPE${text}` : text);
  if (type !== undefined) return type;
  throw new InvalidObservationError(`${shownValue(value)} is not a type of DNS records.`);
}

/** The text of a TXT record may be as it is, without the quotes of a master file. */
function rdataOf(type: string, text: string): string {
  return type === 'TXT' && !/^(?:"|\\#)/.test(text) ? textRdata(fieldOctets(text)) : text;
}

/** The owner name, or the closest above it that is the name of a domain: of `*.example.com`, `example.com`. */
function domainOf(host: string): string {
  for (const name of [host, ...ancestorsOf(host)]) {
    try {
      return parseDomainName(name);
    } catch (error) {
      if (!(error instanceof InvalidDomainError)) throw error;
    }
  }
  throw new InvalidObservationError(`rrname: ${quoted(host)} belongs to no domain.`);
}

/** In seconds, or as precise as milliseconds where both agree. */
function timesOf(line: Json, now: Instant): [first: Instant, last: Instant] {
  const timeOf = (end: 'first' | 'last') => {
    const isOfZone = line[`time_${end}`] === undefined && line[`zone_time_${end}`] !== undefined;
    const key = isOfZone ? `zone_time_${end}` : `time_${end}`;
    const seconds = readAt(key, () => secondsOf(line[key]));
    const milliseconds = line[`time_${end}_ms`];
    const isPrecise = typeof milliseconds === 'number' && Math.floor(milliseconds / 1000) === seconds;
    const microseconds = isPrecise ? BigInt(milliseconds) * 1000n : BigInt(Math.floor(seconds * 1e6));
    const time = parseObservedAt(key, formatInstant(microseconds), now);
    if (time >= EARLIEST_OF_TOOLS) return time;
    throw new InvalidObservationError(`${key}: ${formatInstant(time)} is before 1990.`);
  };
  const [first, last] = [timeOf('first'), timeOf('last')];
  if (first <= last) return [first, last];
  throw new InvalidObservationError('time_first: it is later than time_last.');
}

/** Seconds since the epoch, some services write them as text. */
function secondsOf(value: unknown): number {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text === 'string' && /^\d{1,11}(?:\.\d+)?$/.test(text)) return Number(text);
  const shown =
    value === undefined ? 'it is missing' : `${shownValue(value)} is not a number of seconds since 1970`;
  throw new InvalidObservationError(`${shown}.`);
}

function sourceOf(sensor: unknown): string {
  try {
    return typeof sensor === 'string' ? parseSourceName(sensor) : 'cof';
  } catch {
    return 'cof';
  }
}
