import { canonicalType } from '../model/dns-types.js';
import { parseDomainName } from '../model/domain-name.js';
import { InvalidObservationError } from '../model/errors.js';
import { canonicalHostName } from '../model/host-name.js';
import { compareInstants, type Instant } from '../model/instant.js';
import { isJsonObject, readAt, requireText } from '../model/json-values.js';
import { quoted } from '../model/text.js';
import { type AnswerRecord, type DnsAnswers, objectsIn, observationOfAnswers } from './dns-answers.js';
import type { ParsedLine } from './import-lines.js';
import { parseJsonLine, parseTimeOfLine } from './json-line.js';

type Json = Readonly<Record<string, unknown>>;

/**
 * Makes what parses the lines of zdns, version 2 (`results`, by module) and version 1 (`data` and `status`): the DNS records of a
 * name, as many observations as there are times.
 *
 * A type counts as observed where its status is NOERROR or NXDOMAIN and the response was not truncated. Version 1 does not write
 * the type that was queried: there, the types of the name's own records were observed.
 *
 * @param observedAt The time of lines without one.
 */
export function createZdnsParser(
  observedAt: Instant | undefined,
): (line: string, now: Instant) => ParsedLine {
  return (text, now) => {
    const line = parseJsonLine(text);
    const name = line['altered_name'] ?? line['name'];
    const domain = readAt('name', () => parseDomainName(requireText(name)));
    const { results: modules } = line;
    const outcomes = isJsonObject(modules)
      ? Object.entries(modules).map(([module, result]) => outcomeOf(module, result))
      : [outcomeOf(null, line)];
    const results = outcomes.flatMap(({ result }) => result ?? []);
    const remarks = outcomes.flatMap(({ remark }) => remark ?? []);
    const answers = results.map(({ module, timestamp, records }) => ({
      domain,
      observedAt: parseTimeOfLine(
        module === null ? 'timestamp' : `results.${module}.timestamp`,
        timestamp,
        now,
        observedAt,
      ),
      source: 'zdns',
      types: new Set(module === null ? typesOf(records, domain) : [module]),
      records,
    }));
    const observations = atOneTime(answers).map(observationOfAnswers);
    if (observations.length > 0) return { observations, remarks };
    const failures = outcomes.flatMap(({ failure }) => failure ?? []);
    throw new InvalidObservationError(
      `nothing was observed: ${failures.join(', ') || 'the line has no answers'}.`,
    );
  };
}

/** Joins answers of the same time, the oldest first. */
function atOneTime(answers: readonly DnsAnswers[]): DnsAnswers[] {
  const byTime = new Map<Instant, DnsAnswers>();
  for (const one of answers) {
    if (one.types.size === 0) continue;
    const other = byTime.get(one.observedAt);
    const types = new Set([...(other?.types ?? []), ...one.types]);
    byTime.set(one.observedAt, { ...one, types, records: [...(other?.records ?? []), ...one.records] });
  }
  return [...byTime.values()].sort((one, other) => compareInstants(one.observedAt, other.observedAt));
}

/** What one module of zdns found out. */
interface Result {
  /** A type; null in version 1, which does not write it. */
  readonly module: string | null;
  readonly timestamp: unknown;
  readonly records: readonly AnswerRecord[];
}

interface Outcome {
  readonly result?: Result;
  /** Why nothing was observed. */
  readonly failure?: string;
  readonly remark?: string;
}

/** @param name null in version 1. */
function outcomeOf(name: string | null, value: unknown): Outcome {
  const { status, timestamp, data } = isJsonObject(value) ? value : {};
  const failure = failureOf(status, data);
  if (failure !== null) return { failure: name === null ? failure : `${name}: ${failure}` };
  const answers = isJsonObject(data) ? data['answers'] : undefined;
  const module = name === null ? null : (canonicalType(name) ?? '');
  if (answers === undefined || (module !== null && !READERS.has(module))) {
    const shown = quoted(name ?? '');
    return name === null
      ? {}
      : {
          failure: `${name}: it is not read`,
          remark: `The results of the module ${shown} of zdns are not read.`,
        };
  }
  return { result: { module, timestamp, records: objectsIn(answers).map((each) => recordOf(each, module)) } };
}

function failureOf(status: unknown, data: unknown): string | null {
  if (status !== 'NOERROR' && status !== 'NXDOMAIN') return `status ${quoted(String(status))}`;
  const flags = isJsonObject(data) ? data['flags'] : undefined;
  return isJsonObject(flags) && flags['truncated'] === true ? 'the response was truncated' : null;
}

/** The types of a name's own records. */
function typesOf(records: readonly AnswerRecord[], domain: string): string[] {
  const own = records.filter(({ host, type }) => READERS.has(type) && canonicalHostName(host) === domain);
  return own.map(({ type }) => type);
}

/** @param module What was queried: some answers have another `type` of their own, such as SSHFP. */
function recordOf(answer: Json, module: string | null): AnswerRecord {
  const { name, class: dnsClass, type: given, answer: text } = answer;
  const type = typeof given === 'string' ? given : (module ?? '');
  const common = {
    host: String(name ?? ''),
    type,
    ...(typeof dnsClass === 'string' && { class: dnsClass }),
  };
  const rdata = String(text ?? '');
  return { ...common, ...(READERS.get(type)?.(answer, rdata) ?? { data: rdata }) };
}

/** How the rdata of a type are read: null for a type whose `answer` is all of it. */
type Reader = ((answer: Json, text: string) => Json) | null;

function fields(...names: readonly (readonly [to: string, from: string])[]): Reader {
  return (answer, text) =>
    Object.fromEntries(names.map(([to, from]) => [to, from === '' ? text : answer[from]]));
}

/** The fields that rdata have in a master file, one after the other. */
function presented(...names: readonly string[]): Reader {
  return (answer) => ({ data: names.map((name) => presentedField(answer[name])).join(' ') });
}

const NAMED = fields(['target', '']);
const DELEGATION = presented('key_tag', 'algorithm', 'digest_type', 'digest');
const PUBLIC_KEY = presented('flags', 'protocol', 'algorithm', 'public_key');
const SERVICE: Reader = (answer) => ({ data: service(answer) });

/** The types that are read; '' is the field `answer`. Names may lack the final dot, and the root is empty. */
const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['A', fields(['ip', ''])],
  ['AAAA', fields(['ipv6', ''])],
  ['NS', NAMED],
  ['CNAME', NAMED],
  ['PTR', NAMED],
  ['MX', fields(['pri', 'preference'], ['target', ''])],
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
  ['TXT', (_answer, text) => ({ data: text.split('\n').map(inQuotes).join(' ') })],
  ['HINFO', ({ cpu, os }) => ({ data: [cpu, os].map(inQuotes).join(' ') })],
  ['NAPTR', (answer) => ({ data: naptr(answer) })],
  ['URI', ({ priority, weight, target }) => ({ data: `${priority} ${weight} ${inQuotes(target)}` })],
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
  ['RP', presented('mbox', 'txt')],
  ...['DNAME', 'MB', 'MD', 'MF', 'MG', 'NSAP-PTR', 'OPENPGPKEY', 'DHCID'].map(
    (type) => [type, null] as const,
  ),
]);

function presentedField(value: unknown): string {
  return value === '' ? '.' : String(value);
}

/** Its strings are written with the escapes of master files. */
function inQuotes(text: unknown): string {
  return `"${text}"`;
}

function naptr({ order, preference, flags, service, regexp, replacement }: Json): string {
  const strings = [flags, service, regexp].map(inQuotes).join(' ');
  return `${order} ${preference} ${strings} ${presentedField(replacement)}`;
}

/** RFC 9460, section 2.1. */
function service({ priority, target, svcparams }: Json): string {
  const parameters = Object.entries(isJsonObject(svcparams) ? svcparams : {}).map(([key, value]) => {
    if (value === true) return key;
    // The octets of keys that zdns does not know are in Base64, as Go writes them; those of `ech`, too.
    if (/^key\d/.test(key)) return `${key}="${escapedOctets(Buffer.from(String(value), 'base64'))}"`;
    return `${key}=${Array.isArray(value) ? `"${value.map(protocolText).join(',')}"` : value}`;
  });
  return [priority, presentedField(target), ...parameters].join(' ');
}

/** RFC 9460, appendix A.1: in a list, commas and backslashes are escaped, and the whole once more. */
function protocolText(item: unknown): string {
  return String(item).replace(/[\\,]/g, '\\\\$&').replaceAll('"', '\\"');
}

function escapedOctets(octets: Buffer): string {
  return Array.from(octets, (octet) => `\\${String(octet).padStart(3, '0')}`).join('');
}
