import { canonicalType } from '../model/dns-types.js';
import { parseDomainName } from '../model/domain-name.js';
import { invalidValue } from '../model/errors.js';
import { compareInstants, type Instant } from '../model/instant.js';
import { isJsonObject, readAt, readOr, requireText } from '../model/json-values.js';
import { octetEscape, quoted } from '../model/text.js';
import * as dns from './dns-answers.js';
import { type FormatParser, type Json, parseJsonLine } from './json-line.js';
import type { Remark } from './lines.js';

const MODULES = 'Some modules of zdns are not read: docs/importing.md names those that are.';

/**
 * Lines of zdns, version 2 (`results`, by module) and version 1 (`data` and `status`). Version 1 does not write
 * the type that was queried: there, the types of the name's own records were observed.
 */
export function createZdnsParser(options: dns.AnswerOptions): FormatParser {
  return (text, now) => {
    const line = parseJsonLine(text);
    const { results, name, altered_name: altered } = line;
    const domain = readAt('name', () => parseDomainName(requireText(altered ?? name)));
    const answersOf = (type: string | null, value: unknown): dns.DnsAnswers => {
      const response = dns.requireObject(value);
      const records = dns.recordsOfResponse(domain, response, (answer) => recordOf(answer, type));
      if (type === null) requireNotOfAny(response);
      const observedAt = dns.parseTime('timestamp', response['timestamp'], now, options);
      return { domain, observedAt, source: 'zdns', types: type === null ? null : new Set([type]), records };
    };
    if (!isJsonObject(results))
      return dns.lineOfAnswers([readAt('nothing was observed', () => answersOf(null, line))], options);
    const answers: dns.DnsAnswers[] = [];
    const unobserved = new Map<string, string>();
    const remarks: Remark[] = [];
    for (const [module, value] of Object.entries(results)) {
      const type = canonicalType(module) ?? '';
      const read = () => answers.push(answersOf(type, value));
      if (READERS.has(type)) readOr(read, (reason) => unobserved.set(type, reason));
      else remarks.push({ text: MODULES, example: `${quoted(module)} is not read.` });
    }
    return dns.lineOfAnswers(joinByTime(answers), options, remarks, unobserved);
  };
}

function joinByTime(answers: readonly dns.DnsAnswers[]): dns.DnsAnswers[] {
  const byTime = new Map<Instant, dns.DnsAnswers>();
  for (const one of answers) {
    const { types, records } = byTime.get(one.observedAt) ?? { types: [], records: [] };
    const all = new Set([...(types ?? []), ...(one.types ?? [])]);
    byTime.set(one.observedAt, { ...one, types: all, records: [...records, ...one.records] });
  }
  return [...byTime.values()].sort((one, other) => compareInstants(one.observedAt, other.observedAt));
}

/** RFC 8482, section 4.2. @throws InvalidObservationError for an answer to the type ANY. */
function requireNotOfAny({ data }: Json): void {
  const answers = isJsonObject(data) ? dns.objectsIn(data['answers']) : [];
  if (answers.some(({ type, cpu }) => type === 'HINFO' && cpu === 'RFC8482'))
    throw invalidValue('an answer to ANY need not have all types and records.');
}

/** @param module What was queried: some answers have another `type` of their own, such as SSHFP. */
function recordOf(answer: Json, module: string | null): dns.AnswerRecord {
  const { name, class: dnsClass, type: given } = answer;
  const type = typeof given === 'string' ? given : (module ?? '');
  const fields = () => {
    const read = READERS.get(type);
    if (read !== undefined) return read(answer);
    throw invalidValue('records of this type are not read.');
  };
  return { host: name, type, class: dnsClass, fields };
}

type Reader = (answer: Json) => Json;

/**
 * Rdata by their keys: as fields of the type, each with its key behind `=`, or as in a master file, where keys
 * stand for their values. Names may lack the final dot, and the root is empty there.
 */
const LAYOUTS: Readonly<Record<string, string>> = {
  A: 'ip=answer',
  'NS CNAME PTR': 'target=answer',
  MX: 'pri=preference target=answer',
  SRV: 'pri=priority weight=weight port=port target=target',
  CAA: 'flags=flag tag=tag value=value',
  SOA: 'mname=ns rname=mbox serial=serial refresh=refresh retry=retry expire=expire minimum-ttl=min_ttl',
  HINFO: '"cpu" "os"',
  NAPTR: 'order preference "flags" "service" "regexp" replacement',
  'SVCB HTTPS': 'priority target',
  'DS CDS': 'key_tag algorithm digest_type digest',
  'DNSKEY CDNSKEY': 'flags protocol algorithm public_key',
  TLSA: 'cert_usage selector matching_type certificate',
  SMIMEA: 'usage selector matching_type certificate',
  SSHFP: 'algorithm type fingerprint',
  AFSDB: 'subtype hostname',
  'AAAA DNAME MB MD MF MG NSAP-PTR OPENPGPKEY DHCID TXT': 'answer',
};

const READERS: ReadonlyMap<string, Reader> = new Map(
  Object.entries(LAYOUTS).flatMap(([types, layout]) =>
    types.split(' ').map((type) => [type, readerOf(type, layout)] as const),
  ),
);

function readerOf(type: string, layout: string): Reader {
  const read = layout.includes('=') ? fieldsReader(layout) : textReader(layout);
  // An empty text is left out.
  if (type === 'TXT')
    return ({ answer = '' }) => ({ data: dns.textOf('answer', answer).split('\n').map(inQuotes).join(' ') });
  // Version 1 leaves the root out (RFC 7505, section 3: no mail is accepted).
  if (type === 'MX') return (answer) => read({ answer: '.', ...answer });
  if (layout !== LAYOUTS['SVCB HTTPS']) return read;
  return (answer) => ({ data: [read(answer)['data'], ...parametersOf(answer)].join(' ') });
}

function fieldsReader(layout: string): Reader {
  const pairs = layout.split(' ').map((pair) => pair.split('='));
  // Numbers stay numbers, which fields that are texts do not take.
  const fieldOf = (key: string, value: unknown) =>
    typeof value === 'number' ? value : dns.textOf(key, value);
  return (answer) => Object.fromEntries(pairs.map(([field, key = '']) => [field, fieldOf(key, answer[key])]));
}

function textReader(layout: string): Reader {
  return (answer) => ({
    data: layout.replace(/"(\w+)"|\w+/g, (found, quotedKey?: string) => {
      const text = dns.textOf(quotedKey ?? found, answer[quotedKey ?? found]);
      return quotedKey === undefined ? text || '.' : inQuotes(text);
    }),
  });
}

/** Its strings are written with the escapes of master files. */
function inQuotes(text: string): string {
  if (/^(?:[^"\\]|\\.)*$/s.test(text)) return `"${text}"`;
  throw invalidValue(`${quoted(text)} has a quote or a backslash that is not escaped.`);
}

/** RFC 9460, section 2.1. */
function parametersOf({ svcparams }: Json): string[] {
  return Object.entries(isJsonObject(svcparams) ? svcparams : {}).map(([key, value]) => {
    if (value === true) return key;
    if (Array.isArray(value))
      return `${key}="${value.map((item) => listItem(dns.textOf(quoted(key), item))).join(',')}"`;
    const text = dns.textOf(quoted(key), value);
    // The octets of keys that zdns does not know are in Base64, as Go writes them; those of `ech`, too.
    if (!/^key\d/.test(key)) return `${key}=${text}`;
    return `${key}="${Array.from(Buffer.from(text, 'base64'), octetEscape).join('')}"`;
  });
}

/** RFC 9460, appendix A.1: in a list, commas and backslashes are escaped, and then the whole once more. */
function listItem(item: string): string {
  return item.replace(/[\\,]/g, '\\$&').replace(/[\\"]/g, '\\$&');
}
