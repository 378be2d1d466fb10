import { attempt } from '../model/attempt.js';
import { type DnsRecord, recordsByType } from '../model/dns-record.js';
import { requireType } from '../model/dns-types.js';
import { domainOfOwner, parseDomainName } from '../model/domain-name.js';
import { invalidValue } from '../model/errors.js';
import { addTo } from '../model/groups.js';
import { formatInstant, type Instant, parseInstant } from '../model/instant.js';
import { isJsonObject, type Json, readAt, readOr, requireText } from '../model/json-values.js';
import { fieldOctets } from '../model/master-text.js';
import { parseSourceName, quoted } from '../model/text.js';
import { sightingsIn } from './dms.js';
import { joinedText, parseRecord, requireWhole, shownValue, typeText } from './dns-answers.js';
import { EARLIEST_OF_TOOLS, type FormatParser, parseJsonLine, parseObservedAt } from './json-line.js';
import type { ParsedLine, Remark } from './lines.js';

const EXCHANGED =
  'Whether rrname and rdata are exchanged does not show in the line: they were exchanged back, as in other ' +
  'lines of the input.';
const UNDECIDED =
  'Whether rrname and rdata are exchanged does not show in the line, and some lines of the input have them ' +
  'exchanged, others have not: they were taken as they are written.';
const TORN = 'A TXT record ends with a quote that nothing opens: the quote before it was taken as cut off.';

/** Holds for an answer until its end has come. */
const CUT = 'The answer of DNSDB has no end, so records may be missing: fetch it again.';
const LIMITED =
  'DNSDB did not give all that it has: the answer was cut at the limit that was requested. Query it for the ' +
  'rest.';
const FAILED = 'DNSDB ended its answer with an error: records may be missing. Query it again.';
const ENDED: Remark = { text: CUT, lines: -1 };

const CONDITIONS: ReadonlyMap<unknown, readonly Remark[]> = new Map<unknown, readonly Remark[]>([
  ['begin', [{ text: CUT }]],
  ['succeeded', [ENDED]],
  ['limited', [ENDED, { text: LIMITED }]],
  ['failed', [ENDED, { text: FAILED }]],
]);

/** Whether some lines of the input have shown that names and data are exchanged in them, or are not. */
type Shown = Record<'exchanged' | 'written', boolean>;

/**
 * Passive DNS, Common Output Format (draft-dulaunoy-dnsop-passive-dns-cof), which says nothing of absence: its
 * lines are sightings at their two times. DNSDB puts each line into an object, between lines that tell how its
 * answer begins and ends. CIRCL exchanges names and data in version 2, names and addresses before.
 */
export function createCofParser(): FormatParser {
  const shown: Shown = { exchanged: false, written: false };
  let hasBegun = false;
  return (text, now) => {
    const line = parseJsonLine(text);
    const { cond, obj } = line;
    if (obj !== undefined || cond === undefined)
      return sightingsOf(isJsonObject(obj) ? obj : line, now, shown);
    hasBegun ||= cond === 'begin';
    // The end of an answer that begins nowhere in this input would count for one of another input.
    const remarks = (CONDITIONS.get(cond) ?? []).filter((remark) => hasBegun || remark !== ENDED);
    return { observations: [], remarks };
  };
}

function sightingsOf(line: Json, now: Instant, shown: Shown): ParsedLine {
  const name = readAt('rrname', () => requireText(line['rrname']));
  const type = readAt('rrtype', () => requireType(typeText(line['rrtype'])));
  const byDomain = new Map<string, DnsRecord[]>();
  const remarks = new Map<string, Remark>();
  let reason = 'rdata: it is empty.';
  const leaveOut = (example: string) => {
    reason = example;
    remarks.set('', { text: `A record of type ${type} was left out that cannot be read.`, example });
  };
  for (const item of [line['rdata']].flat()) {
    readOr(() => {
      const text = readAt('rdata', () => requireWhole(requireText(item)));
      const [record, remark] = recordOf(type, name, text, shown);
      addTo(byDomain, domainOf(record.host, line['dms_domain']), record);
      if (remark !== undefined) remarks.set(remark, { text: remark });
    }, leaveOut);
  }
  if (byDomain.size === 0) throw invalidValue(reason);
  const times = timesOf(line, now);
  const source = attempt(() => parseSourceName(requireText(line['sensor_id']))) ?? 'cof';
  const observations = [...byDomain].flatMap(([domain, records]) => {
    const dns = sightingsIn({ records: recordsByType(records) });
    return times.map((observedAt) => ({ domain, observedAt, dns, source }));
  });
  return { observations, remarks: [...remarks.values()] };
}

/** Their data may be a name, or any text: such lines read well both ways. */
const AMBIGUOUS: ReadonlySet<string> = new Set(['NS', 'CNAME', 'DNAME', 'PTR', 'TXT']);

function recordOf(type: string, name: string, text: string, shown: Shown): [DnsRecord, remark?: string] {
  const isTorn = type === 'TXT' && isTornText(text);
  const asWritten = () => readAt('rdata', () => read(type, name, isTorn ? `"${text}` : text));
  const exchanged = () => readAt('rrname', () => read(type, text, name));
  if (AMBIGUOUS.has(type)) {
    if (!shown.exchanged) return isTorn ? [asWritten(), TORN] : [asWritten()];
    return shown.written ? [asWritten(), UNDECIDED] : [exchanged(), EXCHANGED];
  }
  try {
    const record = asWritten();
    shown.written = true;
    return [record];
  } catch (error) {
    const record = attempt(exchanged);
    if (record === undefined) throw error;
    shown.exchanged = true;
    return [record];
  }
}

function read(type: string, host: string, text: string): DnsRecord {
  const fields = () => (type === 'TXT' && isUnquoted(text) ? joinedText(fieldOctets(text)) : { data: text });
  return parseRecord({ host, type, fields });
}

function isUnquoted(text: string): boolean {
  return !/^(?:"|\\#)/.test(text);
}

/** The last of an odd number of quotes ends a text that begins with none. */
function isTornText(text: string): boolean {
  const unescaped = text.replace(/\\./gs, '');
  return isUnquoted(text) && unescaped.endsWith('"') && unescaped.split('"').length % 2 === 0;
}

/** @param stated Of a name without one: its domain, as `dms export` writes it. */
function domainOf(host: string, stated: unknown): string {
  const domain = domainOfOwner(host);
  if (domain !== null) return domain;
  if (typeof stated === 'string') return readAt('dms_domain', () => parseDomainName(stated));
  throw invalidValue(`rrname: ${quoted(host)} belongs to no domain.`);
}

function timesOf(line: Json, now: Instant): readonly Instant[] {
  const times = [timeOf('first', line, now), timeOf('last', line, now)].filter((time) => time !== null);
  const [first, last = first] = times;
  if (first === undefined || last === undefined)
    throw invalidValue('time_first: it is 0, and so is time_last.');
  if (first > last) throw invalidValue('time_first: it is later than time_last.');
  return first === last ? [first] : [first, last];
}

const SECOND = 1_000_000n;

/** Milliseconds count where they agree with the seconds. Null: it is not set, which is written as 0. */
function timeOf(end: 'first' | 'last', line: Json, now: Instant): Instant | null {
  const isUnset = (name: string) => [undefined, 0, '0'].some((unset) => line[name] === unset);
  const isOfZone = isUnset(`time_${end}`) && !isUnset(`zone_time_${end}`);
  const key = isOfZone ? `zone_time_${end}` : `time_${end}`;
  if (line[key] !== undefined && isUnset(key)) return null;
  const coarse = readAt(key, () => instantOf(line[key]));
  const milliseconds = line[`time_${end}_ms`];
  const fine = Number.isInteger(milliseconds) ? BigInt(Number(milliseconds)) * 1000n : coarse;
  const time = fine / SECOND === coarse / SECOND ? fine : coarse;
  if (time < EARLIEST_OF_TOOLS) throw invalidValue(`${key}: ${formatInstant(time)} is before 1990.`);
  return parseObservedAt(key, formatInstant(time), now);
}

/** Seconds since the epoch, as a number or text; or RFC 3339, where UTC need not be said. */
function instantOf(value: unknown): Instant {
  if (value === undefined) throw invalidValue('it is missing.');
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const [, seconds, fraction = ''] = /^(\d{1,11})(?:\.(\d+))?$/.exec(text) ?? [];
  if (seconds !== undefined) return BigInt(seconds) * SECOND + BigInt(fraction.slice(0, 6).padEnd(6, '0'));
  if (/^\d{4}-/.test(text))
    return parseInstant(text.replace(/^(\S+)[ T](\d\d:\d\d:\d\d(?:\.\d+)?)$/, '$1T$2Z'));
  const advice = /^\d{12,14}$/.test(text) ? ', but of milliseconds: divide it by 1000' : '';
  throw invalidValue(`${shownValue(value)} is not a number of seconds since 1970${advice}.`);
}
