import { canonicalType } from '../model/dns-types.js';
import { parseDomainName } from '../model/domain-name.js';
import { InvalidObservationError } from '../model/errors.js';
import { compareInstants, type Instant } from '../model/instant.js';
import { isJsonObject, readAt, readOr, requireText } from '../model/json-values.js';
import { octetEscape, quoted } from '../model/text.js';
import {
  type AnswerOptions,
  type AnswerRecord,
  type DnsAnswers,
  fieldText,
  lineOfAnswers,
  objectsIn,
  recordsOfResponse,
  requireObject,
  textOf,
} from './dns-answers.js';
import { type FormatParser, type Json, parseJsonLine, parseTimeOfLine } from './json-line.js';
import type { Remark } from './lines.js';

/**
 * Makes what parses the lines of zdns, version 2 (`results`, by module) and version 1 (`data` and `status`): the DNS records of a
 * name, as many observations as there are times.
 *
 * A type counts as observed where its status is NOERROR or NXDOMAIN and the response was not truncated. Version 1 does not write
 * the type that was queried: there, the types of the name's own records were observed.
 */
export function createZdnsParser({ observedAt, limits }: AnswerOptions): FormatParser {
  return (text, now) => {
    const line = parseJsonLine(text);
    const { results, name, altered_name: altered } = line;
    const domain = readAt('name', () => parseDomainName(requireText(altered ?? name)));
    const answersOf = (type: string | null, place: string, value: unknown): DnsAnswers => {
      const response = readAt(place, () => requireObject(value));
      const within = place === '' ? '' : `${place}.`;
      const records = recordsIn(domain, type, response, within);
      const time = parseTimeOfLine(`${within}timestamp`, response['timestamp'], now, observedAt);
      const types = type === null ? null : new Set([type]);
      return { domain, observedAt: time, source: 'zdns', types, records };
    };
    if (!isJsonObject(results))
      return lineOfAnswers([readAt('nothing was observed', () => answersOf(null, '', line))], limits);
    const answers: DnsAnswers[] = [];
    const unobserved = new Map<string, string>();
    const remarks: Remark[] = [];
    for (const [module, value] of Object.entries(results)) {
      const type = canonicalType(module) ?? '';
      const read = () => answers.push(answersOf(type, `results.${module}`, value));
      if (READERS.has(type)) readOr(read, (reason) => unobserved.set(type, reason));
      else remarks.push({ text: MODULES, example: `${quoted(module)} is not read.` });
    }
    return lineOfAnswers(atOneTime(answers), limits, { unobserved, remarks });
  };
}

const MODULES = 'Some modules of zdns are not read: docs/importing.md names those that are.';

/** Joins answers of the same time, the oldest first. */
function atOneTime(answers: readonly DnsAnswers[]): DnsAnswers[] {
  const byTime = new Map<Instant, DnsAnswers>();
  for (const one of answers) {
    const other = byTime.get(one.observedAt);
    const types = one.types && new Set([...(other?.types ?? []), ...one.types]);
    byTime.set(one.observedAt, { ...one, types, records: [...(other?.records ?? []), ...one.records] });
  }
  return [...byTime.values()].sort((one, other) => compareInstants(one.observedAt, other.observedAt));
}

/** @param type What was queried; null: that is not told. @throws InvalidObservationError without an answer. */
function recordsIn(
  domain: string,
  type: string | null,
  response: Json,
  place: string,
): readonly AnswerRecord[] {
  const records = recordsOfResponse(domain, response, place, (record) => recordOf(record, type));
  const { data } = response;
  const answers = type === null && isJsonObject(data) ? objectsIn(data['answers']) : [];
  // RFC 8482, section 4.2.
  if (answers.some((answer) => answer['type'] === 'HINFO' && answer['cpu'] === 'RFC8482'))
    throw new InvalidObservationError('an answer to ANY need not have all types and records.');
  return records;
}

/** @param module What was queried: some answers have another `type` of their own, such as SSHFP. */
function recordOf(answer: Json, module: string | null): AnswerRecord {
  const { name, class: dnsClass, type: given } = answer;
  const type = typeof given === 'string' ? given : (module ?? '');
  const fields = () => {
    const read = READERS.get(type);
    if (read !== undefined) return read(answer);
    throw new InvalidObservationError('records of this type are not read.');
  };
  return { host: name, type, class: dnsClass, fields };
}

type Reader = (answer: Json) => Json;

/** Rdata as in a master file, by a pattern with keys in place of their values. The root may be empty. */
function presented(pattern: string): Reader {
  return (answer) => ({
    data: pattern.replace(/"(\w+)"|\w+/g, (key, text?: string) =>
      text === undefined ? fieldText(answer, key) || '.' : inQuotes(fieldText(answer, text)),
    ),
  });
}

/** The fields of the type, by the keys that they have here. Numbers stay numbers. */
function fields(keys: Readonly<Record<string, string>>): Reader {
  const pairs = Object.entries(keys);
  return (answer) =>
    Object.fromEntries(
      pairs.map(([field, key]) => [
        field,
        typeof answer[key] === 'number' ? answer[key] : fieldText(answer, key),
      ]),
    );
}

const NAMED = fields({ target: 'answer' });
const MAIL = fields({ pri: 'preference', target: 'answer' });
const DELEGATION = presented('key_tag algorithm digest_type digest');
const PUBLIC_KEY = presented('flags protocol algorithm public_key');
const SERVICE: Reader = (answer) => ({ data: service(answer) });

/** The types that are read. Names may lack the final dot. */
const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['A', fields({ ip: 'answer' })],
  ['NS', NAMED],
  ['CNAME', NAMED],
  ['PTR', NAMED],
  // Version 1 leaves the root out (RFC 7505, section 3: no mail is accepted).
  ['MX', (answer) => MAIL({ answer: '.', ...answer })],
  ['SRV', fields({ pri: 'priority', weight: 'weight', port: 'port', target: 'target' })],
  ['CAA', fields({ flags: 'flag', tag: 'tag', value: 'value' })],
  [
    'SOA',
    fields({
      ...{ mname: 'ns', rname: 'mbox', serial: 'serial', refresh: 'refresh', retry: 'retry' },
      ...{ expire: 'expire', 'minimum-ttl': 'min_ttl' },
    }),
  ],
  // An empty text is left out.
  ['TXT', ({ answer = '' }) => ({ data: textOf('answer', answer).split('\n').map(inQuotes).join(' ') })],
  ['HINFO', presented('"cpu" "os"')],
  ['NAPTR', presented('order preference "flags" "service" "regexp" replacement')],
  ['SVCB', SERVICE],
  ['HTTPS', SERVICE],
  ['DS', DELEGATION],
  ['CDS', DELEGATION],
  ['DNSKEY', PUBLIC_KEY],
  ['CDNSKEY', PUBLIC_KEY],
  ['TLSA', presented('cert_usage selector matching_type certificate')],
  ['SMIMEA', presented('usage selector matching_type certificate')],
  ['SSHFP', presented('algorithm type fingerprint')],
  ['AFSDB', presented('subtype hostname')],
  ...['AAAA', 'DNAME', 'MB', 'MD', 'MF', 'MG', 'NSAP-PTR', 'OPENPGPKEY', 'DHCID'].map(
    (type) => [type, presented('answer')] as const,
  ),
]);

/** Its strings are written with the escapes of master files. */
function inQuotes(text: string): string {
  if (/^(?:[^"\\]|\\.)*$/s.test(text)) return `"${text}"`;
  throw new InvalidObservationError(`${quoted(text)} has a quote or a backslash that is not escaped.`);
}

/** RFC 9460, section 2.1. */
function service(answer: Json): string {
  const { svcparams } = answer;
  const parameters = Object.entries(isJsonObject(svcparams) ? svcparams : {}).map(([key, value]) => {
    if (value === true) return key;
    if (Array.isArray(value))
      return `${key}="${value.map((item) => listItem(textOf(quoted(key), item))).join(',')}"`;
    const text = textOf(quoted(key), value);
    // The octets of keys that zdns does not know are in Base64, as Go writes them; those of `ech`, too.
    return /^key\d/.test(key) ? `${key}="${escapedOctets(Buffer.from(text, 'base64'))}"` : `${key}=${text}`;
  });
  const { data } = presented('priority target')(answer);
  return [data, ...parameters].join(' ');
}

/** RFC 9460, appendix A.1: in a list, commas and backslashes are escaped, and then the whole once more. */
function listItem(item: string): string {
  return item.replace(/[\\,]/g, '\\$&').replace(/[\\"]/g, '\\$&');
}

function escapedOctets(octets: Buffer): string {
  return Array.from(octets, octetEscape).join('');
}
