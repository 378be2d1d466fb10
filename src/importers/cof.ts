import { attempt } from '../model/attempt.js';
import { type DnsRecord, recordsByType } from '../model/dns-record.js';
import { requireType } from '../model/dns-types.js';
import { domainOfOwner, parseDomainName } from '../model/domain-name.js';
import { InvalidObservationError } from '../model/errors.js';
import { addTo } from '../model/groups.js';
import { formatInstant, type Instant, parseInstant } from '../model/instant.js';
import { isJsonObject, readAt, readOr, requireText } from '../model/json-values.js';
import { fieldOctets } from '../model/master-text.js';
import { parseSourceName, quoted } from '../model/text.js';
import { joinedText, parseRecord, requireWhole, shownValue, typeText } from './dns-answers.js';
import {
  EARLIEST_OF_TOOLS,
  type FormatParser,
  type Json,
  parseJsonLine,
  parseObservedAt,
} from './json-line.js';
import type { ParsedLine, Remark } from './lines.js';

const LIMITED =
  'DNSDB did not give all that it has: the answer was cut at the limit that was requested. Query it for the rest.';
const FAILED = 'DNSDB ended its answer with an error: records may be missing. Query it again.';
const CUT = 'The answer of DNSDB has no end, so records may be missing: fetch it again.';
const EXCHANGED =
  'Whether rrname and rdata are exchanged does not show in the line: they were exchanged back, as in other lines of the input.';
const UNDECIDED =
  'Whether rrname and rdata are exchanged does not show in the line, and some lines of the input have them exchanged, others ' +
  'have not: they were taken as they are written.';
const TORN = 'A TXT record ends with a quote that nothing opens: the quote before it was taken as cut off.';

/** What the lines of an input have shown so far: whether names and data are exchanged in them, or are not. */
interface Shown {
  exchanged: boolean;
  written: boolean;
}

/**
 * Makes what parses the lines of passive DNS in the Common Output Format (draft-dulaunoy-dnsop-passive-dns-cof): a record that
 * was seen from one time to another. It says nothing of absence: its lines are sightings at both times.
 *
 * DNSDB puts each line into an object, between lines that tell how its answer begins and ends. The service of CIRCL exchanges
 * names and data in version 2, names and addresses before.
 */
export function createCofParser() {
  const answers = { begun: 0, ended: 0 };
  const shown: Shown = { exchanged: false, written: false };
  const parse = (text: string, now: Instant): ParsedLine => {
    const line = parseJsonLine(text);
    const { cond, obj } = line;
    if (obj === undefined && cond !== undefined)
      return { observations: [], remarks: remarksOf(cond, answers) };
    return sightingsOf(isJsonObject(obj) ? obj : line, now, shown);
  };
  const foresee = (text: string) => {
    const line = parseJsonLine(text);
    recordsOf(isJsonObject(line['obj']) ? line['obj'] : line, shown);
  };
  return Object.assign(parse satisfies FormatParser, {
    foresee,
    atEnd: () => (answers.begun > answers.ended ? [{ text: CUT }] : []),
  });
}

function remarksOf(cond: unknown, answers: { begun: number; ended: number }): Remark[] {
  if (cond === 'begin') answers.begun += 1;
  if (cond === 'succeeded' || cond === 'limited' || cond === 'failed') answers.ended += 1;
  return cond === 'limited' ? [{ text: LIMITED }] : cond === 'failed' ? [{ text: FAILED }] : [];
}

/** The same records at both times, for each of the domains that the line is of. */
function sightingsOf(line: Json, now: Instant, shown: Shown): ParsedLine {
  const times = timesOf(line, now);
  const source = sourceOf(line['sensor_id']);
  const { byDomain, remarks } = recordsOf(line, shown);
  const observations = [...byDomain].flatMap(([domain, list]) => {
    const records = recordsByType(list);
    const dns = { types: new Set(records.keys()), sighted: true, records };
    return times.map((observedAt) => ({ domain, observedAt, dns, source }));
  });
  return { observations, remarks };
}

/** The records of a line by domain. @throws InvalidObservationError where none can be read. */
function recordsOf(line: Json, shown: Shown) {
  const name = readAt('rrname', () => requireText(line['rrname']));
  const type = readAt('rrtype', () => requireType(typeText(line['rrtype'])));
  const { rdata } = line;
  const items: readonly unknown[] = Array.isArray(rdata) ? rdata : [rdata];
  const byDomain = new Map<string, DnsRecord[]>();
  const remarks = new Map<string, Remark>();
  const add = (item: unknown) => {
    const text = readAt('rdata', () => requireWhole(requireText(item)));
    const { record, remark } = recordOf(type, name, text, shown);
    addTo(byDomain, domainOf(record.host, line['dms_domain']), record);
    if (remark !== undefined) remarks.set(remark, { text: remark });
  };
  const leaveOut = (example: string) =>
    remarks.set('', { text: `A record of type ${type} was left out that cannot be read.`, example });
  for (const item of items) readOr(() => add(item), leaveOut);
  if (byDomain.size > 0) return { byDomain, remarks: [...remarks.values()] };
  throw new InvalidObservationError(remarks.get('')?.example ?? 'rdata: it is empty.');
}

/** Types whose data may be a name, or any text: such lines read well both ways. */
const AMBIGUOUS: ReadonlySet<string> = new Set(['NS', 'CNAME', 'DNAME', 'PTR', 'TXT']);

/** The record as it is written, or else with name and data exchanged. */
function recordOf(
  type: string,
  name: string,
  text: string,
  shown: Shown,
): { readonly record: DnsRecord; readonly remark?: string } {
  const isTorn = type === 'TXT' && isTornText(text);
  const asWritten = () => ({
    record: readAt('rdata', () => read(type, name, isTorn ? `"${text}` : text)),
    ...(isTorn && { remark: TORN }),
  });
  const exchanged = () => readAt('rrname', () => read(type, text, name));
  if (AMBIGUOUS.has(type)) {
    if (!shown.exchanged) return asWritten();
    return shown.written ? { ...asWritten(), remark: UNDECIDED } : { record: exchanged(), remark: EXCHANGED };
  }
  try {
    const found = asWritten();
    shown.written = true;
    return found;
  } catch (error) {
    const record = attempt(exchanged);
    if (record === undefined) throw error;
    shown.exchanged = true;
    return { record };
  }
}

function read(type: string, host: string, text: string): DnsRecord {
  // The text of a TXT record may be as it is, without the quotes of a master file.
  const isPlain = type === 'TXT' && !/^(?:"|\\#)/.test(text);
  return parseRecord({
    host,
    type,
    fields: () => (isPlain ? joinedText(fieldOctets(text)) : { data: text }),
  });
}

/** Whether the last of an odd number of quotes ends a text that begins with none. */
function isTornText(text: string): boolean {
  const quotes = text.replace(/\\./gs, '').match(/"/g)?.length ?? 0;
  return quotes % 2 === 1 && !/^(?:"|\\#)/.test(text) && /(?:^|[^\\])(?:\\\\)*"$/.test(text);
}

/** @param stated Of a name without one: its domain, as `dms export` writes it. */
function domainOf(host: string, stated: unknown): string {
  const domain = domainOfOwner(host);
  if (domain !== null) return domain;
  if (typeof stated === 'string') return readAt('dms_domain', () => parseDomainName(stated));
  throw new InvalidObservationError(`rrname: ${quoted(host)} belongs to no domain.`);
}

/** When the record was seen first and last; one time where the other is 0, or the same. */
function timesOf(line: Json, now: Instant): readonly Instant[] {
  const [start, end] = [timeOf('first', line, now), timeOf('last', line, now)];
  const [first, last] = [start ?? end, end ?? start];
  if (first === null || last === null)
    throw new InvalidObservationError('time_first: it is 0, and so is time_last.');
  if (first <= last) return first === last ? [first] : [first, last];
  throw new InvalidObservationError('time_first: it is later than time_last.');
}

/** In seconds, or as precise as milliseconds where both agree. Null: it is not set, which is written as 0. */
function timeOf(end: 'first' | 'last', line: Json, now: Instant): Instant | null {
  const isOfZone = isUnset(line[`time_${end}`]) && !isUnset(line[`zone_time_${end}`]);
  const key = isOfZone ? `zone_time_${end}` : `time_${end}`;
  const value = line[key];
  if (value !== undefined && isUnset(value)) return null;
  const coarse = readAt(key, () => instantOf(value));
  const milliseconds = line[`time_${end}_ms`];
  const isWhole = typeof milliseconds === 'number' && Number.isInteger(milliseconds);
  const fine = isWhole ? BigInt(milliseconds) * 1000n : coarse;
  const microseconds = fine / SECOND === coarse / SECOND ? fine : coarse;
  const time = parseObservedAt(key, formatInstant(microseconds), now);
  if (time >= EARLIEST_OF_TOOLS) return time;
  throw new InvalidObservationError(`${key}: ${formatInstant(time)} is before 1990.`);
}

function isUnset(value: unknown): boolean {
  return value === undefined || value === 0 || value === '0';
}

const SECOND = 1_000_000n;

/** Seconds since the epoch, which some services write as text, or the time as RFC 3339 has it, or in UTC without saying so. */
function instantOf(value: unknown): Instant {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text === 'string') {
    const [, seconds, fraction = ''] = /^(\d{1,11})(?:\.(\d+))?$/.exec(text) ?? [];
    if (seconds !== undefined) return BigInt(seconds) * SECOND + BigInt(fraction.slice(0, 6).padEnd(6, '0'));
    if (/^\d{4}-/.test(text))
      return parseInstant(text.replace(/^(\S+)[ T](\d\d:\d\d:\d\d(?:\.\d+)?)$/, '$1T$2Z'));
  }
  const shown =
    value === undefined ? 'it is missing' : `${shownValue(value)} is not a number of seconds since 1970`;
  const isLong = typeof text === 'string' && /^\d{12,14}$/.test(text);
  const advice = isLong ? ', but of milliseconds: divide it by 1000' : '';
  throw new InvalidObservationError(`${shown}${advice}.`);
}

function sourceOf(sensor: unknown): string {
  return attempt(() => parseSourceName(requireText(sensor))) ?? 'cof';
}
