import { canonicalType, requireType } from '../model/dns-types.js';
import { parseDomainName } from '../model/domain-name.js';
import { InvalidObservationError } from '../model/errors.js';
import { formatInstant, type Instant } from '../model/instant.js';
import { isJsonObject, readAt, requireText } from '../model/json-values.js';
import { octetEscape, quoted } from '../model/text.js';
import { type AnswerRecord, objectsIn, observationOfAnswers } from './dns-answers.js';
import type { ParsedLine } from './import-lines.js';
import { parseJsonLine, parseTimeOfLine } from './json-line.js';

type Json = Readonly<Record<string, unknown>>;

/** Of a text in quotes, the quotes before the colon are escaped: only keys have this form. */
const RECEIVED = /"rx_ts"\s*:\s*(\d+)/;

const TXT_STRINGS =
  'massdns does not write how the data of a TXT record are divided into strings: they are taken as one string, and of more than ' +
  '255 octets as strings of 255.';

/**
 * Makes what parses the lines that massdns writes with `-o J`, version 1.1: the answer to a question for one type.
 *
 * @param observedAt The time of lines without one: older versions write none.
 */
export function createMassdnsParser(
  observedAt: Instant | undefined,
): (line: string, now: Instant) => ParsedLine {
  return (text, now) => {
    const line = parseJsonLine(text);
    requireAnswer(line);
    const domain = readAt('name', () => parseDomainName(withDecimalEscapes(requireText(line['name']))));
    const type = readAt('type', () => requireType(typeText(line['type'])));
    const time = receivedAt(line['rx_ts'], text);
    const observation = observationOfAnswers({
      domain,
      observedAt: parseTimeOfLine('rx_ts', time, now, observedAt),
      source: 'massdns',
      types: new Set([type]),
      records: objectsIn(isJsonObject(line['data']) ? line['data']['answers'] : undefined).map(recordOf),
    });
    const hasText = observation.dns?.records.has('TXT') === true;
    return { observations: [observation], remarks: hasText ? [TXT_STRINGS] : [] };
  };
}

function requireAnswer({ error, status, flags }: Json): void {
  if (error !== undefined)
    throw new InvalidObservationError(`nothing was observed: ${quoted(String(error))}.`);
  if (status !== 'NOERROR' && status !== 'NXDOMAIN') {
    throw new InvalidObservationError(`nothing was observed: status ${quoted(String(status))}.`);
  }
  if (Array.isArray(flags) && flags.includes('tc')) {
    throw new InvalidObservationError('nothing was observed: the response was truncated.');
  }
}

/** In nanoseconds since the epoch, of which JSON.parse loses digits. @returns undefined where there is none. */
function receivedAt(value: unknown, text: string): string | undefined {
  if (value === undefined) return undefined;
  const digits = RECEIVED.exec(text)?.[1];
  if (digits === undefined || Number(digits) !== value) {
    throw new InvalidObservationError('rx_ts: it is not a number of nanoseconds.');
  }
  return readAt('rx_ts', () => formatInstant(BigInt(digits) / 1000n));
}

function typeText(type: unknown): string {
  const text = requireText(type);
  return /^\d+$/.test(text) ? `TYPE${text}` : text;
}

/** Types whose rdata is written as in master files; of the others, their octets. */
const PRESENTED: ReadonlySet<string> = new Set('A AAAA NS CNAME DNAME PTR MX SOA SRV TLSA SMIMEA'.split(' '));

function recordOf({ name, type: given, class: dnsClass, data }: Json): AnswerRecord {
  const type = typeof given === 'string' ? typeText(given) : '';
  const common = {
    host: withDecimalEscapes(String(name ?? '')),
    type,
    ...(typeof dnsClass === 'string' && { class: dnsClass }),
  };
  const text = String(data ?? '');
  if (PRESENTED.has(type)) return { ...common, data: withDecimalEscapes(text) };
  if (type === 'CAA') return { ...common, ...authorization(text) };
  const octets = octetsOf(text);
  return { ...common, data: generic(canonicalType(type) === 'TXT' ? inStrings(octets) : octets) };
}

/** Octets that are not visible in ASCII are written as `\xHH`, the backslash among them. */
function octetsOf(text: string): Buffer {
  const octets = text.replace(/\\x([\da-f]{2})/gi, (_escape, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
  return Buffer.from(octets, 'latin1');
}

/** The same in the escapes of master files. */
function withDecimalEscapes(text: string): string {
  return text.replace(/\\x([\da-f]{2})/gi, (_escape, digits: string) =>
    octetEscape(Number.parseInt(digits, 16)),
  );
}

/** Its flags are shifted to the right by 7, so that the highest, "issuer critical" (RFC 8659, section 4.1), is 1. */
function authorization(text: string): Json {
  const [, flags, tag = '', value = ''] = /^(\d+) (\S+) "(.*)"$/s.exec(text) ?? [];
  if (flags === undefined) throw new InvalidObservationError(`data: ${quoted(text)} is not a CAA record.`);
  const octets = octetsOf(tag);
  const critical = Number(flags) * 128;
  return { data: generic(Buffer.concat([Buffer.of(critical, octets.length), octets, octetsOf(value)])) };
}

const LONGEST_STRING = 255;

function inStrings(octets: Buffer): Buffer {
  const count = Math.max(1, Math.ceil(octets.length / LONGEST_STRING));
  return Buffer.concat(
    Array.from({ length: count }, (_, at) => {
      const part = octets.subarray(at * LONGEST_STRING, (at + 1) * LONGEST_STRING);
      return Buffer.concat([Buffer.of(part.length), part]);
    }),
  );
}

/** RFC 3597, section 5. */
function generic(octets: Buffer): string {
  return `\\# ${octets.length} ${octets.toString('hex')}`;
}
