import { characterStringText } from '../model/character-string.js';
import { type DnsRecord, parseDnsRecord, recordsByType } from '../model/dns-record.js';
import { canonicalClass, canonicalType, requireType } from '../model/dns-types.js';
import { invalidValue } from '../model/errors.js';
import { canonicalHostName } from '../model/host-name.js';
import { formatInstant, type Instant } from '../model/instant.js';
import { isIpv4 } from '../model/ip-address.js';
import { isJsonObject, readAt, readOr, requireText } from '../model/json-values.js';
import { excessOfRecords, type Observation, type ObservationLimits } from '../model/observation.js';
import { quoted } from '../model/text.js';
import { EARLIEST_OF_TOOLS, type Json, parseObservedAt } from './json-line.js';
import type { ParsedLine, Remark } from './lines.js';

export interface AnswerOptions {
  /** The time of lines without one; absent: they are rejected. */
  readonly observedAt?: Instant | undefined;
  readonly limits: ObservationLimits;
}

/** A record as a tool writes it. What cannot be read of it costs its type, and nothing else of the line. */
export interface AnswerRecord {
  readonly host: unknown;
  readonly type: string;
  /** Absent: it is IN. */
  readonly class?: unknown;
  /** The fields of the type (specification, 2.3), or `data`. @throws InvalidObservationError */
  readonly fields: () => Json;
}

export interface DnsAnswers extends Pick<Observation, 'domain' | 'observedAt' | 'source'> {
  /** The types that were queried and answered, in canonical form; null: those of which the name has records. */
  readonly types: ReadonlySet<string> | null;
  /** With those of other names, where aliases lead to, and of other types, which are left out. */
  readonly records: readonly AnswerRecord[];
}

const BEHIND_ALIAS =
  'The addresses that a CNAME leads to were left out: they belong to its target. Query that name to record ' +
  'them.';

/**
 * @param unobserved Types without an answer, and why; '': a type that is not told.
 * @param otherwise Why nothing was observed, if nothing else tells it.
 * @throws InvalidObservationError where nothing was observed.
 */
export function lineOfAnswers(
  answers: readonly DnsAnswers[],
  { limits }: AnswerOptions,
  remarks: readonly Remark[] = [],
  unobserved: ReadonlyMap<string, string> = new Map(),
  otherwise = 'the line has no answers',
): ParsedLine {
  const reasons = new Map(unobserved);
  const observations = answers.flatMap((each) => {
    const unread = new Map<string, string>();
    const observation = observationOf(each, limits, unread);
    for (const [type, reason] of unread) reasons.set(type, reason);
    return observation ?? [];
  });
  if (observations.length > 0) {
    const lost = Array.from(reasons, ([type, example]): Remark => {
      if (type === '') return { text: 'A record was left out that cannot be read.', example };
      return { text: `${type} counts as not observed.`, example };
    });
    const behindAlias = answers.flatMap(addressesBehindAlias).slice(0, 1);
    return { observations, remarks: [...remarks, ...lost, ...behindAlias] };
  }
  const told = [
    ...Array.from(reasons, ([type, reason]) => (type === '' ? reason : `${type}: ${reason}`)),
    ...remarks.flatMap(({ example = [] }) => example),
  ];
  const why = told.map((reason) => reason.replace(/\.$/, '')).join('; ');
  throw invalidValue(`nothing was observed: ${why || otherwise}.`);
}

/**
 * It is complete for the owner name that was queried, and for no other.
 *
 * A name with a CNAME has no other records (RFC 1034, section 3.6.2): an answer with such shows that a CNAME
 * known before is gone. An answer without any does not: some tools leave the alias out where its target has no
 * such records.
 *
 * @param unobserved Gets the types with a record that is invalid or not of class IN, or with too many records.
 */
function observationOf(
  { domain, observedAt, source, types: asked, records: given }: DnsAnswers,
  limits: ObservationLimits,
  unobserved: Map<string, string>,
): Observation | null {
  const read = given.flatMap((record, at) => {
    const type = canonicalType(record.type);
    const isAsked = asked === null ? !PROOFS.has(type ?? '') : type === 'CNAME' || asked.has(type ?? '');
    if ((type !== undefined && !isAsked) || !isOf(domain, record)) return [];
    return readOr(
      () => readAt(`answers[${at}]`, () => parseRecord(record)),
      (reason) => {
        if (!unobserved.has(type ?? '')) unobserved.set(type ?? '', reason);
        return [];
      },
    );
  });
  const records = recordsByType(read);
  for (const [type, { length }] of records) {
    const excess = excessOfRecords(type, length, limits);
    if (excess !== null) unobserved.set(type, `${excess}.`);
  }
  for (const type of unobserved.keys()) records.delete(type);
  const types = [...(asked ?? []), ...records.keys()].filter((type) => !unobserved.has(type));
  if (types.length === 0) return null;
  const excludesAlias =
    !unobserved.has('CNAME') && [...records.keys()].some((type) => !BESIDE_ALIAS.has(type));
  const owners = new Set([domain]);
  const observed = [...types, ...(excludesAlias ? ['CNAME'] : [])];
  const observedOwners = new Map(observed.map((type) => [type, owners]));
  const dns = { types: new Set(types), observedOwners, records };
  return { domain, observedAt, ...(source && { source }), dns };
}

export function parseRecord(record: AnswerRecord): DnsRecord {
  const { data, ...fields } = record.fields();
  requireClassIn(record.class);
  const type = requireType(record.type);
  // Go writes an IPv4-mapped IPv6 address (RFC 4291, section 2.5.5.2) as the IPv4 address in it.
  const isMapped = type === 'AAAA' && typeof data === 'string' && isIpv4(data);
  const text = data === undefined ? {} : { data: isMapped ? `::ffff:${data}` : data };
  return parseDnsRecord({ host: textOf('name', record.host), class: 'IN', type, ...fields, ...text });
}

function addressesBehindAlias({ domain, records }: DnsAnswers): readonly Remark[] {
  if (!records.some((record) => record.type === 'CNAME' && isOf(domain, record))) return [];
  const address = records.find((record) => /^A(?:AAA)?$/.test(record.type) && !isOf(domain, record));
  if (address === undefined) return [];
  return [{ text: BEHIND_ALIAS, example: `${address.type} records of ${shownValue(address.host)}.` }];
}

/** Or may be, since its owner cannot be read. */
export function isOf(domain: string, { host }: AnswerRecord): boolean {
  const isEqual = () => canonicalHostName(textOf('name', host)) === domain;
  return readOr(isEqual, () => true);
}

function requireClassIn(value: unknown): void {
  if (value === undefined || (typeof value === 'string' && canonicalClass(value) === 'IN')) return;
  throw invalidValue(`class: ${shownValue(value)} is not IN, and no other is read.`);
}

/** @throws InvalidObservationError where it does not answer, by its status, flags and sections. */
export function recordsOfResponse(domain: string, response: Json, recordOf: (record: Json) => AnswerRecord) {
  requireAnswered(response);
  const { data = response['status'] === 'NXDOMAIN' ? {} : undefined } = response;
  const { answers, authorities, flags } = readAt('data', () => requireObject(data));
  const isSet = flagReader(flags ?? response['flags']);
  if (isSet('tc', 'truncated') === true) throw invalidValue('the response was truncated.');
  const records = readAt('data.answers', () => objectsIn(answers).map(recordOf));
  const others = readAt('data.authorities', () => objectsIn(authorities));
  if (records.some((record) => isOf(domain, record))) return records;
  if (records.length > 0) throw invalidValue('the answers are of other names.');
  const isAuthoritative = isSet('aa', 'authoritative');
  if (isAuthoritative === false && isSet('ra', 'recursion_available') === false)
    throw invalidValue('the server is neither responsible for the name nor a resolver.');
  const servers = others.filter(({ type }) => type === 'NS');
  const isOfRoot = servers.some(({ name }) => name === '.' || name === '');
  // RFC 2308, section 2.2: without SOA, name servers are those to be queried instead.
  const isReferral =
    servers.length > 0 && isAuthoritative !== true && !others.some(({ type }) => type === 'SOA');
  if (isReferral || isOfRoot) throw invalidValue('the response is a referral.');
  return [];
}

function requireAnswered({ status, error, class: dnsClass }: Json): void {
  requireClassIn(dnsClass);
  if (status === 'NOERROR' || status === 'NXDOMAIN') return;
  const told = status ?? error;
  throw invalidValue(told === undefined ? 'it has no status.' : `status ${shownValue(told)}.`);
}

/** Bits of a message's header are in an object, by their names, or in a list of those that are set. */
function flagReader(flags: unknown): (short: string, long: string) => unknown {
  if (Array.isArray(flags)) return (short) => flags.includes(short);
  return (_, long) => (isJsonObject(flags) ? flags[long] : undefined);
}

export function parseTime(key: string, value: unknown, now: Instant, { observedAt }: AnswerOptions): Instant {
  const time = value === undefined || value === null ? undefined : parseObservedAt(key, value, now);
  if (time !== undefined && time >= EARLIEST_OF_TOOLS) return time;
  if (observedAt !== undefined) return observedAt;
  const problem = time === undefined ? 'it is missing' : `${formatInstant(time)} is before 1990`;
  throw invalidValue(
    `${key}: ${problem}; say when the lines were observed, --observed-at 2024-03-01T10:20:30Z.`,
  );
}

/** Go writes empty lists as null, or leaves them out. */
export function objectsIn(value: unknown): readonly Json[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every(isJsonObject)) return value;
  throw invalidValue('it is not a list of objects.');
}

export function textOf(place: string, value: unknown): string {
  return readAt(place, () => requireWhole(typeof value === 'number' ? String(value) : requireText(value)));
}

export function typeText(value: unknown): string {
  const text = typeof value === 'number' ? String(value) : requireText(value);
  return /^\d+$/.test(text) ? `TYPE${text}` : text;
}

/** @throws InvalidObservationError for U+FFFD, which tools write in place of octets that are not UTF-8. */
export function requireWhole(text: string): string {
  if (!text.includes('\ufffd')) return text;
  throw invalidValue(`octets that were not UTF-8 are lost in ${quoted(text)}.`);
}

export function shownValue(value: unknown): string {
  return quoted(typeof value === 'string' ? value : JSON.stringify(value));
}

export function requireObject(value: unknown): Json {
  if (isJsonObject(value)) return value;
  throw invalidValue('it is missing, or not an object.');
}

/** The fields of a TXT record, of which a tool does not write how its text is divided into strings. */
export function joinedText(octets: Buffer): Json {
  return { txt: characterStringText(octets), joined: true };
}

/** They prove something about other records: not all of them come with an answer. */
export const PROOFS: ReadonlySet<string> = new Set(['RRSIG', 'NSEC', 'NSEC3']);

/** What may be beside a CNAME (RFC 2181, section 10.1, and RFC 4034, section 3). */
const BESIDE_ALIAS: ReadonlySet<string> = new Set([...PROOFS, 'CNAME', 'KEY', 'SIG', 'NXT']);
