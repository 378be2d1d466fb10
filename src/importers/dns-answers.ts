import { type DnsRecord, parseDnsRecord, recordsByType } from '../model/dns-record.js';
import { requireType } from '../model/dns-types.js';
import { canonicalHostName } from '../model/host-name.js';
import { isJsonObject, readAt } from '../model/json-values.js';
import type { Observation } from '../model/observation.js';

/** The keys of a record's data (specification, 2.3), or `data`, the rdata as a master file has it. */
export type AnswerRecord = Readonly<Record<string, unknown>> & {
  readonly host: string;
  readonly type: string;
};

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
 * Where the name has a CNAME, every answer shows it (RFC 1034, section 3.6.2): an answer without one shows that a CNAME known
 * before is gone.
 *
 * @throws InvalidObservationError for a record that is not valid.
 */
export function observationOfAnswers(answers: DnsAnswers): Observation {
  const { domain, observedAt, source, types } = answers;
  const records: DnsRecord[] = [];
  for (const [at, record] of answers.records.entries()) {
    readAt(`answers[${at}]`, () => {
      const type = requireType(record.type);
      if (type !== 'CNAME' && !types.has(type)) return;
      if (canonicalHostName(record.host) !== domain) return;
      const data = { class: 'IN', ...record, type };
      records.push(parseDnsRecord(data));
    });
  }
  const byType = recordsByType(records);
  const observed = byType.has('CNAME') ? new Set([...types, 'CNAME']) : types;
  const owners = new Set([domain]);
  const observedOwners = new Map([...observed, 'CNAME'].map((type) => [type, owners]));
  return {
    domain,
    observedAt,
    ...(source && { source }),
    dns: { types: observed, observedOwners, records: byType },
  };
}

/** The objects in a list of parsed JSON; none where it is no list. */
export function objectsIn(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
