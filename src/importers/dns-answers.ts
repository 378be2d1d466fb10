import { characterStringText } from '../model/character-string.js';
import { type DnsRecord, parseDnsRecord, recordsByType } from '../model/dns-record.js';
import { canonicalClass, canonicalType, requireType } from '../model/dns-types.js';
import { InvalidDomainError, InvalidObservationError } from '../model/errors.js';
import { canonicalHostName } from '../model/host-name.js';
import type { Instant } from '../model/instant.js';
import { isIpv4 } from '../model/ip-address.js';
import { isJsonObject, readAt, requireText } from '../model/json-values.js';
import { excessOfRecords, type Observation, type ObservationLimits } from '../model/observation.js';
import { quoted } from '../model/text.js';
import type { ParsedLine } from './import-lines.js';
import type { Remark } from './import-summary.js';

export type Json = Readonly<Record<string, unknown>>;

export interface AnswerOptions {
  /** The time of lines without one. */
  readonly observedAt?: Instant | undefined;
  readonly limits: ObservationLimits;
}

/** A record as a tool writes it. What cannot be read of it costs its type, and nothing else of the line. */
export interface AnswerRecord {
  /** The owner name, in the form of a master file. */
  readonly host: unknown;
  /** As far as it can be told; in canonical form or not. */
  readonly type: string;
  /** Absent: it is IN. */
  readonly class?: unknown;
  /** The fields of the type (specification, 2.3), or `data`. @throws InvalidObservationError */
  readonly fields: () => Json;
}

/** What a name server answered about one name. */
export interface DnsAnswers extends Pick<Observation, 'domain' | 'observedAt' | 'source'> {
  /** The types that were queried and answered, in canonical form; null: those of which the name has records. */
  readonly types: ReadonlySet<string> | null;
  /** With those of other names, where aliases lead to, and of other types, which are left out. */
  readonly records: readonly AnswerRecord[];
}

/** Why types count as not observed; of a record without a type that can be told, by an empty text. */
export type Unobserved = ReadonlyMap<string, string>;

/**
 * What a line says: what was observed of its types, and which types were not, for its remarks.
 *
 * @param limits A type with more records than they allow was not observed.
 * @param unobserved Of the types without an answer.
 * @throws InvalidObservationError where nothing was observed.
 */
export function lineOfAnswers(
  answers: readonly DnsAnswers[],
  limits: ObservationLimits,
  unobserved: Unobserved = new Map(),
  remarks: readonly Remark[] = [],
): ParsedLine {
  const found = answers.map((each) => observationOfAnswers(each, limits));
  const observations = found.flatMap(({ observation }) => observation ?? []);
  const all = new Map([...unobserved, ...found.flatMap((one) => [...one.unobserved])]);
  if (observations.length > 0) {
    return {
      observations,
      remarks: [...remarks, ...remarksOf(all), ...answers.flatMap(behindAlias).slice(0, 1)],
    };
  }
  const reasons = [
    ...Array.from(all, ([type, reason]) => (type === '' ? reason : `${type}: ${reason}`)),
    ...remarks.flatMap(({ example }) => example ?? []),
  ];
  const told = reasons.map((reason) => reason.replace(/\.$/, '')).join('; ');
  throw new InvalidObservationError(`nothing was observed: ${told || 'the line has no answers'}.`);
}

function remarksOf(unobserved: Unobserved): Remark[] {
  return Array.from(unobserved, ([type, reason]) => ({
    text: type === '' ? 'A record was left out that cannot be read.' : `${type} counts as not observed.`,
    example: reason,
  }));
}

/** The first address that an alias leads to: it is of another name. */
function behindAlias({ domain, records }: DnsAnswers): Remark[] {
  if (!records.some((record) => record.type === 'CNAME' && isOf(domain, record))) return [];
  const address = records.find((record) => ADDRESSES.has(record.type) && !isOf(domain, record));
  if (address === undefined) return [];
  const example = `${address.type} records of ${shownValue(address.host)}.`;
  return [{ text: BEHIND_ALIAS, example }];
}

const ADDRESSES: ReadonlySet<string> = new Set(['A', 'AAAA']);

const BEHIND_ALIAS =
  'The addresses that a CNAME leads to were left out: they belong to its target. Query that name to record them.';

/**
 * The observation of a name's answers. It is complete for the owner name that was queried, and for no other.
 *
 * A name with a CNAME has no other records (RFC 1034, section 3.6.2): an answer with such shows that a CNAME known before is gone.
 * An answer without any shows nothing of that: some tools leave the alias out where its target has no such records.
 *
 * @returns null where no type was observed. A type with a record that is not valid, or not of class IN, was not.
 */
function observationOfAnswers(
  answers: DnsAnswers,
  limits: ObservationLimits,
): {
  readonly observation: Observation | null;
  readonly unobserved: Unobserved;
} {
  const { domain, observedAt, source, types: asked } = answers;
  const unobserved = new Map<string, string>();
  const all = answers.records.flatMap((record, at) => {
    try {
      return readAt(`answers[${at}]`, () => ownRecord(domain, asked, record)) ?? [];
    } catch (error) {
      const { message } = requireInvalid(error);
      const type = canonicalType(record.type) ?? '';
      unobserved.set(type, unobserved.get(type) ?? message);
      return [];
    }
  });
  for (const [type, { length }] of recordsByType(all)) {
    const excess = excessOfRecords(type, length, limits);
    if (excess !== null) unobserved.set(type, `${excess}.`);
  }
  const records = all.filter(({ type }) => !unobserved.has(type));
  const byType = recordsByType(records);
  const types = [...(asked ?? []), ...byType.keys()].filter((type) => !unobserved.has(type));
  if (types.length === 0) return { observation: null, unobserved };
  const owners = new Set([domain]);
  const excludesAlias = !unobserved.has('CNAME') && records.some(({ type }) => !BESIDE_ALIAS.has(type));
  const covered = excludesAlias ? [...types, 'CNAME'] : types;
  const observedOwners = new Map(covered.map((type) => [type, owners]));
  const dns = { types: new Set(types), observedOwners, records: byType };
  return { observation: { domain, observedAt, ...(source && { source }), dns }, unobserved };
}

/** Null for a record of another name, or of a type that is not to be read. @throws InvalidObservationError */
function ownRecord(domain: string, asked: DnsAnswers['types'], record: AnswerRecord): DnsRecord | null {
  const known = canonicalType(record.type);
  if (known !== undefined && !(asked === null ? !PROOFS.has(known) : known === 'CNAME' || asked.has(known)))
    return null;
  if (!isOf(domain, record)) return null;
  const { data, ...fields } = record.fields();
  requireClassIn(record.class);
  const type = requireType(record.type);
  const text = typeof data === 'string' ? { data: rdataText(type, data) } : {};
  return parseDnsRecord({ host: textOf('name', record.host), class: 'IN', type, ...fields, ...text });
}

/** Go writes an IPv4-mapped IPv6 address (RFC 4291, section 2.5.5.2) as the IPv4 address in it. */
export function rdataText(type: string, text: string): string {
  return type === 'AAAA' && isIpv4(text) ? `::ffff:${text}` : text;
}

/** An error that costs only a part of a line. @throws any other error */
export function requireInvalid(error: unknown): InvalidObservationError | InvalidDomainError {
  if (error instanceof InvalidObservationError || error instanceof InvalidDomainError) return error;
  throw error;
}

/** Whether a record is of the name itself, or may be, since its owner cannot be read. */
export function isOf(domain: string, { host }: AnswerRecord): boolean {
  try {
    return canonicalHostName(textOf('name', host)) === domain;
  } catch (error) {
    requireInvalid(error);
    return true;
  }
}

/** @param value Absent: it is IN. @throws InvalidObservationError for another class. */
export function requireClassIn(value: unknown): void {
  if (value === undefined || (typeof value === 'string' && canonicalClass(value) === 'IN')) return;
  throw new InvalidObservationError(`class: ${shownValue(value)} is not IN, and no other is read.`);
}

/**
 * Why a response with these records does not answer the question; null: it does.
 *
 * @param authorities Those of its authority section.
 * @param flags The bits AA and RA, as far as they are told.
 */
export function failureOfAnswers(
  domain: string,
  records: readonly AnswerRecord[],
  authorities: readonly Json[],
  flags: { readonly aa: unknown; readonly ra: unknown } | undefined,
): string | null {
  if (records.length > 0) {
    return records.some((record) => isOf(domain, record)) ? null : 'the answers are of other names';
  }
  if (flags?.aa === false && flags.ra === false)
    return 'the server is neither responsible for the name nor a resolver';
  const servers = authorities.filter(({ type }) => type === 'NS');
  // RFC 2308, section 2.2: without SOA, name servers are those to be queried instead.
  const isReferral =
    servers.length > 0 && flags?.aa !== true && !authorities.some(({ type }) => type === 'SOA');
  return isReferral || servers.some(({ name }) => isRoot(name)) ? 'the response is a referral' : null;
}

function isRoot(name: unknown): boolean {
  return name === '.' || name === '';
}

const ROOT_SERVER = /^[a-m]\.root-servers\.net\.?$/i;

/**
 * Whether these name servers, of which the owner is not known, are those of the root: for another name they are those to be
 * queried instead.
 */
export function isReferralToRoot(domain: string, servers: readonly string[]): boolean {
  return domain !== 'root-servers.net' && servers.some((server) => ROOT_SERVER.test(server));
}

/**
 * A list of parsed JSON; empty where it is absent or null, as Go writes empty lists.
 *
 * @throws InvalidObservationError for anything but a list of objects.
 */
export function objectsIn(value: unknown): readonly Json[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every(isJsonObject)) return value;
  throw new InvalidObservationError('it is not a list of objects.');
}

/** A field of a record that must be a text, or a number. @throws InvalidObservationError */
export function fieldText(record: Json, name: string): string {
  return textOf(name, record[name]);
}

/** A text, or a number, at a place that messages name. @throws InvalidObservationError for anything else. */
export function textOf(place: string, value: unknown): string {
  return readAt(place, () => requireWhole(typeof value === 'number' ? String(value) : requireText(value)));
}

/** Tools that write JSON have U+FFFD in place of octets that are not UTF-8. @throws InvalidObservationError for such a text. */
export function requireWhole(text: string): string {
  if (!text.includes('\ufffd')) return text;
  throw new InvalidObservationError(`octets that were not UTF-8 are lost in ${quoted(text)}.`);
}

/** Any value of parsed JSON, for messages. */
export function shownValue(value: unknown): string {
  return quoted(typeof value === 'string' ? value : JSON.stringify(value));
}

/** A value of parsed JSON that must be an object. @throws InvalidObservationError */
export function requireObject(value: unknown): Json {
  if (isJsonObject(value)) return value;
  throw new InvalidObservationError('it is missing, or not an object.');
}

/** The fields of a TXT record, of which a tool does not write how its text is divided into strings. */
export function joinedText(octets: Buffer): Json {
  return { txt: characterStringText(octets), joined: true };
}

/** Records that prove something about others: not all of them come with an answer. */
export const PROOFS: ReadonlySet<string> = new Set(['RRSIG', 'NSEC', 'NSEC3']);

/** What may be beside a CNAME (RFC 2181, section 10.1, and RFC 4034, section 3). */
const BESIDE_ALIAS: ReadonlySet<string> = new Set([...PROOFS, 'CNAME', 'KEY', 'SIG', 'NXT']);
