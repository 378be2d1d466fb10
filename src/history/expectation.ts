import type { DnsRecord } from '../model/dns-record.js';
import { parseRdata } from '../model/rdata-types.js';
import { compareUtf8 } from '../model/utf8-order.js';
import { asHeld } from './complete-observation.js';
import { identityOf } from './state.js';

export interface Expectation {
  /** At least one domain: the first of them that is recorded has the records of an owner name. */
  domainsOf(owner: string): readonly string[];
  /** The domain that it is of; null: each owner name says it. */
  readonly domain: string | null;
  readonly records: readonly DnsRecord[];
  /** For which the records are complete, besides their own types. */
  readonly types: ReadonlySet<string>;
  /** They are complete for all owner names of the domain, not only for those that they have. */
  readonly allOwners: boolean;
  /** Field names to values; null: it must be absent. */
  readonly headers: ReadonlyMap<string, string | null>;
  /** Any other header is unexpected. */
  readonly allHeaders: boolean;
}

export interface Found {
  readonly records: readonly DnsRecord[];
  readonly headers: ReadonlyMap<string, string>;
}

/** A record, or a header, whose name is then that of the field. */
export interface Difference {
  readonly domain: string;
  readonly name: string;
  readonly expected: DnsRecord | string | null;
  readonly found: DnsRecord | string | null;
}

class DomainExpectation {
  readonly records: DnsRecord[] = [];
  readonly types = new Set<string>();
  readonly owners = new Set<string>();
  readonly headers = new Map<string, string | null>();
  allOwners = false;
  allHeaders = false;
}

/**
 * Compares what should be with what there is. SOA records are compared without their serial number, which
 * changes with the zone.
 *
 * @param found By domain; of those that are not recorded there is nothing.
 * @returns the differences, by domain, the records first, by type and owner name, then the headers by
 *   their names; of each name, what should be comes first.
 */
export function differencesOf(
  expectations: readonly Expectation[],
  found: ReadonlyMap<string, Found>,
): Difference[] {
  const byDomain = [...expectedByDomain(expectations, found)].sort(([a], [b]) => compareUtf8(a, b));
  return byDomain.flatMap(([domain, expected]) => {
    const { records = [], headers = new Map<string, string>() } = found.get(domain) ?? {};
    const differences = [...recordDifferences(expected, records), ...headerDifferences(expected, headers)];
    return differences.map((difference) => ({ domain, ...difference }));
  });
}

function expectedByDomain(
  expectations: readonly Expectation[],
  found: ReadonlyMap<string, Found>,
): ReadonlyMap<string, DomainExpectation> {
  const byDomain = new Map<string, DomainExpectation>();
  const expectedOf = (domain: string) => {
    const known = byDomain.get(domain) ?? new DomainExpectation();
    byDomain.set(domain, known);
    return known;
  };
  for (const { domain, domainsOf, records, types, allOwners, headers, allHeaders } of expectations) {
    if (domain !== null) {
      const expected = expectedOf(domain);
      for (const type of [...types, ...records.map((record) => record.type)]) expected.types.add(type);
      for (const [name, value] of headers) expected.headers.set(name, value);
      expected.allOwners ||= allOwners;
      expected.allHeaders ||= allHeaders;
    }
    for (const record of records) {
      const domains = domainsOf(record.host);
      const owner = domains.find((name) => found.has(name)) ?? domain ?? domains[0] ?? record.host;
      const expected = expectedOf(owner);
      expected.records.push(record);
      expected.types.add(record.type);
      expected.owners.add(record.host);
    }
  }
  return byDomain;
}

function recordDifferences(
  { records, types, owners, allOwners }: DomainExpectation,
  present: readonly DnsRecord[],
): Omit<Difference, 'domain'>[] {
  const covered = present.filter(({ type, host }) => types.has(type) && (allOwners || owners.has(host)));
  const expected = new Map(asHeld(records, covered).map((record) => [keyOf(record), record]));
  const found = new Map(covered.map((record) => [keyOf(record), record]));
  return [...expected, ...found]
    .filter(([key]) => !(expected.has(key) && found.has(key)))
    .sort(([, a], [, b]) => compareUtf8(a.type, b.type) || compareUtf8(a.host, b.host))
    .map(([key, { host: name }]) => ({
      name,
      expected: expected.get(key) ?? null,
      found: found.get(key) ?? null,
    }));
}

function keyOf(record: DnsRecord): string {
  const { type, rdata } = record;
  const compared = type === 'SOA' ? JSON.stringify({ ...parseRdata(rdata), serial: 0 }) : rdata;
  return `${type}\n${identityOf({ ...record, rdata: compared })}`;
}

function headerDifferences(
  { headers, allHeaders }: DomainExpectation,
  present: ReadonlyMap<string, string>,
): Omit<Difference, 'domain'>[] {
  const names = new Set([...headers.keys(), ...(allHeaders ? present.keys() : [])]);
  return [...names]
    .sort(compareUtf8)
    .map((name) => ({ name, expected: headers.get(name) ?? null, found: present.get(name) ?? null }))
    .filter(({ expected, found }) => expected !== found);
}
