import { canonicalType } from '../model/dns-types.js';
import { parseDomainName } from '../model/domain-name.js';
import { InvalidObservationError } from '../model/errors.js';
import { compareInstants, type Instant } from '../model/instant.js';
import { isJsonObject, readAt, requireText } from '../model/json-values.js';
import { octetEscape, quoted } from '../model/text.js';
import {
  type AnswerOptions,
  type AnswerRecord,
  type DnsAnswers,
  failureOfAnswers,
  fieldText,
  type Json,
  lineOfAnswers,
  objectsIn,
  requireClassIn,
  requireInvalid,
  requireObject,
  shownValue,
  textOf,
} from './dns-answers.js';
import type { ParsedLine } from './import-lines.js';
import type { Remark } from './import-summary.js';
import { parseJsonLine, parseTimeOfLine } from './json-line.js';

/**
 * Makes what parses the lines of zdns, version 2 (`results`, by module) and version 1 (`data` and `status`): the DNS records of a
 * name, as many observations as there are times.
 *
 * A type counts as observed where its status is NOERROR or NXDOMAIN and the response was not truncated. Version 1 does not write
 * the type that was queried: there, the types of the name's own records were observed.
 */
export function createZdnsParser({
  observedAt,
  limits,
}: AnswerOptions): (line: string, now: Instant) => ParsedLine {
  return (text, now) => {
    const line = parseJsonLine(text);
    const name = line['altered_name'] ?? line['name'];
    const domain = readAt('name', () => parseDomainName(requireText(name)));
    const { results: modules } = line;
    const timeOf = (place: string, value: unknown) => parseTimeOfLine(place, value, now, observedAt);
    const outcomes = isJsonObject(modules)
      ? Object.entries(modules).map(([module, result]) => outcomeOf(domain, module, result, timeOf))
      : [outcomeOf(domain, null, line, timeOf)];
    const answers = outcomes.flatMap(({ answer }) => answer ?? []);
    const unobserved = new Map(outcomes.flatMap(({ failure }) => (failure === undefined ? [] : [failure])));
    const remarks = outcomes.flatMap(({ remark }) => remark ?? []);
    return lineOfAnswers(atOneTime(answers), limits, unobserved, remarks);
  };
}

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

/** What one module of zdns found out. */
interface Outcome {
  readonly answer?: DnsAnswers;
  /** Its type, and why nothing was observed. */
  readonly failure?: readonly [type: string, reason: string];
  readonly remark?: Remark;
}

const MODULES = 'Some modules of zdns are not read: docs/importing.md names those that are.';

/** @param name null in version 1. @param timeOf Of a time at a place of the line. */
function outcomeOf(
  domain: string,
  name: string | null,
  value: unknown,
  timeOf: (place: string, value: unknown) => Instant,
): Outcome {
  const module = name === null ? null : (canonicalType(name) ?? '');
  if (module !== null && !READERS.has(module)) {
    return { remark: { text: MODULES, example: `${quoted(name ?? '')} is not read.` } };
  }
  const place = name === null ? '' : `results.${name}.`;
  try {
    const result = readAt(name === null ? 'the line' : `results.${name}`, () => requireObject(value));
    const records = recordsIn(domain, module, result, place);
    const observedAt = timeOf(`${place}timestamp`, result['timestamp']);
    const types = module === null ? null : new Set([module]);
    return { answer: { domain, observedAt, source: 'zdns', types, records } };
  } catch (error) {
    return { failure: [module ?? '', requireInvalid(error).message] };
  }
}

/** The records of an answer. @throws InvalidObservationError where there was none. */
function recordsIn(domain: string, module: string | null, result: Json, place: string): AnswerRecord[] {
  const { status, data, class: dnsClass } = result;
  requireClassIn(dnsClass);
  if (status !== 'NOERROR' && status !== 'NXDOMAIN') {
    throw new InvalidObservationError(
      status === undefined ? 'it has no status.' : `status ${shownValue(status)}.`,
    );
  }
  const isEmpty = status === 'NXDOMAIN' && data === undefined;
  const { answers, authorities, flags } = isEmpty ? {} : readAt(`${place}data`, () => requireObject(data));
  const bits = isJsonObject(flags) ? flags : undefined;
  if (bits?.['truncated'] === true) throw new InvalidObservationError('the response was truncated.');
  const records = readAt(`${place}data.answers`, () =>
    objectsIn(answers).map((each) => recordOf(each, module)),
  );
  const others = readAt(`${place}data.authorities`, () => objectsIn(authorities));
  const unanswered = failureOfAnswers(
    domain,
    records,
    others,
    bits && { aa: bits['authoritative'], ra: bits['recursion_available'] },
  );
  if (unanswered !== null) throw new InvalidObservationError(`${unanswered}.`);
  // RFC 8482, section 4.2.
  if (module === null && objectsIn(answers).some(({ type, cpu }) => type === 'HINFO' && cpu === 'RFC8482'))
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

function fields(...names: readonly (readonly [to: string, from: string])[]): Reader {
  return (answer) => Object.fromEntries(names.map(([to, from]) => [to, numberOrText(answer, from)]));
}

/** Numbers stay numbers. */
function numberOrText(answer: Json, name: string): unknown {
  const value = answer[name];
  return typeof value === 'number' ? value : fieldText(answer, name);
}

/** The fields that rdata have in a master file, one after the other. */
function presented(...names: readonly string[]): Reader {
  return (answer) => ({ data: names.map((name) => presentedField(fieldText(answer, name))).join(' ') });
}

const NAMED = fields(['target', 'answer']);
const DELEGATION = presented('key_tag', 'algorithm', 'digest_type', 'digest');
const PUBLIC_KEY = presented('flags', 'protocol', 'algorithm', 'public_key');
const SERVICE: Reader = (answer) => ({ data: service(answer) });

/** The types that are read. Names may lack the final dot, and the root may be empty. */
const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['A', fields(['ip', 'answer'])],
  ['AAAA', presented('answer')],
  ['NS', NAMED],
  ['CNAME', NAMED],
  ['PTR', NAMED],
  // Version 1 leaves the root out (RFC 7505, section 3: no mail is accepted).
  ['MX', (answer) => fields(['pri', 'preference'], ['target', 'answer'])({ answer: '.', ...answer })],
  ['SRV', fields(['pri', 'priority'], ['weight', 'weight'], ['port', 'port'], ['target', 'target'])],
  ['CAA', fields(['flags', 'flag'], ['tag', 'tag'], ['value', 'value'])],
  [
    'SOA',
    fields(
      ...([
        ['mname', 'ns'],
        ['rname', 'mbox'],
        ['minimum-ttl', 'min_ttl'],
      ] as const),
      ...['serial', 'refresh', 'retry', 'expire'].map((name) => [name, name] as const),
    ),
  ],
  // An empty text is left out.
  [
    'TXT',
    (answer) => ({
      data: fieldText({ answer: '', ...answer }, 'answer')
        .split('\n')
        .map(inQuotes)
        .join(' '),
    }),
  ],
  ['HINFO', (answer) => ({ data: ['cpu', 'os'].map((name) => inQuotes(fieldText(answer, name))).join(' ') })],
  ['NAPTR', (answer) => ({ data: naptr(answer) })],
  ['SVCB', SERVICE],
  ['HTTPS', SERVICE],
  ['DS', DELEGATION],
  ['CDS', DELEGATION],
  ['DNSKEY', PUBLIC_KEY],
  ['CDNSKEY', PUBLIC_KEY],
  ['TLSA', presented('cert_usage', 'selector', 'matching_type', 'certificate')],
  ['SMIMEA', presented('usage', 'selector', 'matching_type', 'certificate')],
  ['SSHFP', presented('algorithm', 'type', 'fingerprint')],
  ['AFSDB', presented('subtype', 'hostname')],
  ...['DNAME', 'MB', 'MD', 'MF', 'MG', 'NSAP-PTR', 'OPENPGPKEY', 'DHCID'].map(
    (type) => [type, presented('answer')] as const,
  ),
]);

function presentedField(text: string): string {
  return text === '' ? '.' : text;
}

/** Its strings are written with the escapes of master files. */
function inQuotes(text: string): string {
  if (/^(?:[^"\\]|\\.)*$/s.test(text)) return `"${text}"`;
  throw new InvalidObservationError(`${quoted(text)} has a quote or a backslash that is not escaped.`);
}

function naptr(answer: Json): string {
  const numbers = ['order', 'preference'].map((name) => fieldText(answer, name));
  const strings = ['flags', 'service', 'regexp'].map((name) => inQuotes(fieldText(answer, name)));
  return [...numbers, ...strings, presentedField(fieldText(answer, 'replacement'))].join(' ');
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
  return [fieldText(answer, 'priority'), presentedField(fieldText(answer, 'target')), ...parameters].join(
    ' ',
  );
}

/** RFC 9460, appendix A.1: in a list, commas and backslashes are escaped, and then the whole once more. */
function listItem(item: string): string {
  return item.replace(/[\\,]/g, '\\$&').replace(/[\\"]/g, '\\$&');
}

function escapedOctets(octets: Buffer): string {
  return Array.from(octets, octetEscape).join('');
}
