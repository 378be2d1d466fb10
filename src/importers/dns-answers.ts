import { type DnsRecord, parseDnsRecord, recordsByType } from '../model/dns-record.js';
import { canonicalClass, requireType } from '../model/dns-types.js';
import { InvalidObservationError } from '../model/errors.js';
import { canonicalHostName } from '../model/host-name.js';
import { isJsonObject, readAt, requireText } from '../model/json-values.js';
import type { Observation } from '../model/observation.js';
import { quoted } from '../model/text.js';

export type Json = Readonly<Record<string, unknown>>;

/** The keys of a record's data (specification, 2.3), or `data`, the rdata as a master file has it. */
export type AnswerRecord = Json & { readonly host: string; readonly type: string };

/** What a name server answered about one name. */
export interface DnsAnswers extends Pick<Observation, 'domain' | 'observedAt' | 'source'> {
  /** The types that were queried and answered, in canonical form. */
  readonly types: ReadonlySet<string>;
  /** With those of other names, where aliases lead to, and of other types, which are left out. */
  readonly records: readonly AnswerRecord[];
}

/**
 * The observation of a name's answers. It is complete for the owner name that was queried, and for no other.
 *
 * A name with a CNAME has no other records (RFC 1034, section 3.6.2): an answer with such shows that a CNAME known before is gone.
 * An answer without any shows nothing of that: some tools leave the alias out where its target has no such records.
 *
 * @throws InvalidObservationError for a record that is not valid, and for one of another class than IN.
 */
export function observationOfAnswers(answers: DnsAnswers): Observation {
  const { domain, observedAt, source, types } = answers;
  const records: DnsRecord[] = [];
  for (const [at, record] of answers.records.entries()) {
    readAt(`answers[${at}]`, () => {
      const type = requireType(record.type);
      if (type !== 'CNAME' && !types.has(type)) return;
      if (!isOf(domain, record)) return;
      const data = { class: 'IN', ...record, type };
      requireClassIn(data.class);
      records.push(parseDnsRecord(data));
    });
  }
  const byType = recordsByType(records);
  const observed = byType.has('CNAME') ? new Set([...types, 'CNAME']) : types;
  const owners = new Set([domain]);
  const excludesAlias = records.some(({ type }) => !BESIDE_ALIAS.has(type));
  const covered = excludesAlias ? [...observed, 'CNAME'] : [...observed];
  const observedOwners = new Map(covered.map((type) => [type, owners]));
  return {
    domain,
    observedAt,
    ...(source && { source }),
    dns: { types: observed, observedOwners, records: byType },
  };
}

/** Whether a record is of the name itself. */
export function isOf(domain: string, { host }: AnswerRecord): boolean {
  return readAt('name', () => canonicalHostName(host)) === domain;
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
  const types = new Set(authorities.map(({ type }) => type));
  // RFC 2308, section 2.2: without SOA, name servers are those to be queried instead.
  const isReferral = types.has('NS') && !types.has('SOA') && flags?.aa !== true;
  return isReferral ? 'the response is a referral' : null;
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
  const text = typeof value === 'number' ? String(value) : readAt(place, () => requireText(value));
  if (!text.includes('\ufffd')) return text;
  throw new InvalidObservationError(`${place}: octets that were not UTF-8 are lost in ${quoted(text)}.`);
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

const LONGEST_STRING = 255;

/** The rdata of a TXT record whose text is not divided into strings: each but the last is as long as it can be. */
export function textRdata(octets: Buffer): string {
  const count = Math.max(1, Math.ceil(octets.length / LONGEST_STRING));
  const strings = Array.from({ length: count }, (_, at) => {
    const part = octets.subarray(at * LONGEST_STRING, (at + 1) * LONGEST_STRING);
    return Buffer.concat([Buffer.of(part.length), part]);
  });
  return genericRdata(Buffer.concat(strings));
}

/** RFC 3597, section 5. */
export function genericRdata(octets: Buffer): string {
  return `\\# ${octets.length} ${octets.toString('hex')}`;
}

/** Records that prove something about others: not all of them come with an answer. */
export const PROOFS: ReadonlySet<string> = new Set(['RRSIG', 'NSEC', 'NSEC3']);

/** What may be beside a CNAME (RFC 2181, section 10.1, and RFC 4034, section 3). */
const BESIDE_ALIAS: ReadonlySet<string> = new Set([...PROOFS, 'CNAME', 'KEY', 'SIG', 'NXT']);
