import { canonicalType, requireType } from '../model/dns-types.js';
import { parseDomainName } from '../model/domain-name.js';
import { invalidValue } from '../model/errors.js';
import { formatInstant } from '../model/instant.js';
import { readAt, requireText } from '../model/json-values.js';
import { genericText, parseRdataText } from '../model/rdata-text.js';
import { LAYOUTS } from '../model/rdata-types.js';
import { octetEscape, quoted } from '../model/text.js';
import * as dns from './dns-answers.js';
import { type FormatParser, type Json, parseJsonLine } from './json-line.js';

const TXT_STRINGS = {
  text:
    'massdns does not write how the data of a TXT record are divided into strings: one that is present with ' +
    'the same text counts as the same, and of others each string but the last has 255 octets.',
};

/** Lines of massdns `-o J`, version 1.1: answers to a question for one type. */
export function createMassdnsParser(options: dns.AnswerOptions): FormatParser {
  return (text, now) => {
    const line = parseJsonLine(text);
    const domain = readAt('name', () => parseDomainName(nameText(requireText(line['name']))));
    const records = readAt('nothing was observed', () => dns.recordsOfResponse(domain, line, recordOf));
    const type = readAt('type', () => requireType(dns.typeText(requireText(line['type']))));
    if (dns.PROOFS.has(type)) throw invalidValue(`type: answers for ${type} need not be complete.`);
    const observedAt = dns.parseTime('rx_ts', receivedAt(line['rx_ts'], text), now, options);
    const answers = { domain, observedAt, source: 'massdns', types: new Set([type]), records };
    const isText = (record: dns.AnswerRecord) => record.type === 'TXT' && dns.isOf(domain, record);
    const remarks = type === 'TXT' && records.some(isText) ? [TXT_STRINGS] : [];
    return dns.lineOfAnswers([answers], options, remarks);
  };
}

/** Up to the year 2286. Quotes within a text are escaped: only keys have this form. */
const RECEIVED = /"rx_ts"\s*:\s*(\d{1,19})/;

/** In nanoseconds since the epoch, of which JSON.parse loses digits. */
function receivedAt(value: unknown, text: string): string | undefined {
  if (value === undefined) return undefined;
  const digits = RECEIVED.exec(text)?.[1];
  if (digits !== undefined && Number(digits) === value) return formatInstant(BigInt(digits) / 1000n);
  throw invalidValue('rx_ts: it is not a number of nanoseconds since 1970.');
}

/** Where names are in the rdata that is written as text. Of all other types but CAA it is octets. */
const NAMES: ReadonlyMap<string, RegExp | null> = new Map<string, RegExp | null>([
  ...['A', 'AAAA', 'TLSA', 'SMIMEA'].map((type) => [type, null] as const),
  ...['NS', 'CNAME', 'DNAME', 'PTR'].map((type) => [type, /^.+$/s] as const),
  ['MX', /(?<=^\d+ ).+$/s],
  ['SRV', /(?<=^\d+ \d+ \d+ ).+$/s],
  ['SOA', /(?<=^|^[^ ]+ )[^ ]+(?=.* \d+ \d+ \d+ \d+ \d+$)/gs],
]);

function recordOf({ name, class: dnsClass, type: given, data }: Json): dns.AnswerRecord {
  const type = typeof given === 'string' ? dns.typeText(given) : '';
  const host = typeof name === 'string' ? nameText(name) : name;
  return { host, type, class: dnsClass, fields: () => fieldsOf(type, dns.textOf('data', data)) };
}

function fieldsOf(type: string, text: string): Json {
  if (/[^ -~]/.test(text)) throw invalidValue('data: massdns writes nothing but ASCII.');
  const known = canonicalType(type) ?? type;
  if (known === 'TXT') return dns.joinedText(octetsOf(text));
  const names = NAMES.get(type);
  if (names !== undefined) return { data: names === null ? text : text.replace(names, nameText) };
  if (type === 'CAA') return { data: authorization(text) };
  const data = genericText(octetsOf(text));
  // Names in octets may be compressed, by the place of another in the message, which is not known here. Of
  // other octets that are not valid, the form of RFC 3597 is all that there is.
  if (!LAYOUTS.has(known) || !String(parseRdataText(known, data)['data']).startsWith('\\#')) return { data };
  throw invalidValue(`data: it is not the data of a record of type ${known}, or has a compressed name.`);
}

/** Octets that are not visible in ASCII are written as `\xHH`, the backslash among them. */
function octetsOf(text: string): Buffer {
  const character = (_: string, digits: string) => String.fromCharCode(Number.parseInt(digits, 16));
  return Buffer.from(text.replace(/\\x([\da-f]{2})/gi, character), 'latin1');
}

/** A name as a master file has it: massdns escapes only dots, backslashes and what is not visible. */
function nameText(text: string): string {
  return text.replace(/\\x([\da-f]{2})|[^\w.*-]/gi, (character, digits: string | undefined) =>
    octetEscape(digits === undefined ? character.charCodeAt(0) : Number.parseInt(digits, 16)),
  );
}

/** Flags are shifted right by 7: the highest, "issuer critical" (RFC 8659, section 4.1), is 1. */
function authorization(text: string): string {
  const [, flags, tag = '', value = ''] = /^([01]) (\S+) "(.*)"$/s.exec(text) ?? [];
  if (flags === undefined) throw invalidValue(`data: ${quoted(text)} is not a CAA record.`);
  const octets = octetsOf(tag);
  return genericText(Buffer.concat([Buffer.of(Number(flags) * 128, octets.length), octets, octetsOf(value)]));
}
