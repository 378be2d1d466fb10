import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import type { DomainHistory } from '../replay/domain-history.js';
import type { ObservationLine } from './random-observations.js';
import {
  type Filter,
  headerStaysOf,
  historiesAt,
  lastChangeOf,
  meetsDomainFilter,
  meetsHeaderFilter,
  meetsRecordFilter,
  type Paging,
  type RecordMatch,
  recordsOf,
} from './random-searches.js';

const RECORD = `
  ... on DnsRecordEntry { host class type firstSeen removed lastSeen }
  ... on ARecord { ip } ... on AaaaRecord { ipv6 } ... on TxtRecord { txt entries } ... on OtherRecord { data }
  ... on NsRecord { target } ... on CnameRecord { target } ... on PtrRecord { target }
  ... on MxRecord { pri target } ... on SrvRecord { pri weight port target } ... on CaaRecord { flags tag value }
  ... on NaptrRecord { order pref naptrFlags services regex replacement }
  ... on SoaRecord { mname rname serial refresh retry expire minimumTtl }`;

const page = (node: string) =>
  `{ nodes { ${node} } edges { cursor node { ${node} } } pageInfo { hasNextPage endCursor } }`;

const RECORDS_FOUND = `query ($where: DnsRecordFilter!, $first: Int!, $after: String) {
  page: dnsRecords(where: $where, first: $first, after: $after) ${page(`domain { name lastChange } record { ${RECORD} }`)} }`;
const HEADERS_FOUND = `query ($where: HttpHeaderFilter!, $first: Int!, $after: String) {
  page: httpHeaders(where: $where, first: $first, after: $after) ${page('domain { name lastChange } name value from to')} }`;
const DOMAINS_FOUND = `query ($where: DomainFilter, $first: Int!, $after: String) {
  page: searchDomains(where: $where, first: $first, after: $after) ${page('name created lastUpdate lastChange')} }`;
const EVERY_RECORD = `query ($names: [String!]!, $at: Timestamp) {
  domains(names: $names, at: $at) { name dnsRecords { ${RECORD} } } }`;

export const OWN_RECORDS = `query ($name: String!, $at: Timestamp, $types: [String!], $present: Boolean, $first: Int!, $after: String) {
  domain(name: $name, at: $at) {
    page: dnsRecordsConnection(types: $types, present: $present, first: $first, after: $after) ${page(RECORD)} } }`;
export const OWN_HEADERS = `query ($name: String!, $at: Timestamp, $names: [String!], $first: Int!, $after: String) {
  domain(name: $name, at: $at) {
    page: httpHeadersConnection(names: $names, first: $first, after: $after) ${page('name value present')} } }`;
export const OWN_VALUES = `query ($name: String!, $at: Timestamp, $header: String!, $first: Int!, $after: String) {
  domain(name: $name, at: $at) { httpHeaders(names: [$header]) {
    page: historyConnection(first: $first, after: $after) ${page('event date new old')} } } }`;

export async function ask(url: string, query: string, variables: object = {}) {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = JSON.parse(await response.text());
  return { data, errors };
}

interface Page<Node> {
  readonly nodes: readonly Node[];
  readonly edges: readonly { readonly cursor: string; readonly node: Node }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

/** So many pages are as long as they are to be. */
const MOST_PAGES = 6;

/** All matches of a question, page by page; after some pages, on longer ones. */
export async function walk<Node>(
  url: string,
  query: string,
  variables: object,
  paging: Paging,
): Promise<Node[]> {
  const found: Node[] = [];
  let after: string | null = null;
  for (let pages = 1; ; pages += 1) {
    const { first, byEdge } = pages <= MOST_PAGES ? paging : { first: 200, byEdge: false };
    const { data, errors } = await ask(url, query, { ...variables, first, after });
    expect(errors).toBeUndefined();
    const parent = data.domain?.httpHeaders?.[0] ?? data.domain ?? data;
    const { nodes, edges, pageInfo }: Page<Node> = parent.page;
    expectSame(
      edges.map(({ node }) => node),
      nodes,
    );
    expect(nodes.length).toBeLessThanOrEqual(first);
    const middle = byEdge ? edges.slice(0, Math.ceil(edges.length / 2)) : edges;
    const isWhole = middle.length === edges.length;
    found.push(...middle.map(({ node }) => node));
    if (isWhole && !pageInfo.hasNextPage) return found;
    after = isWhole ? pageInfo.endCursor : (middle.at(-1)?.cursor ?? null);
    expect(after).not.toBeNull();
  }
}

/** A service, and what is recorded there by a replay, by the names of the domains. */
export interface Searched {
  readonly url: string;
  historiesAt(at?: string): readonly DomainHistory[];
}

/** What is recorded there by these lines. */
export function searched(url: string, lines: readonly ObservationLine[]): Searched {
  const known = new Map<string | undefined, readonly DomainHistory[]>();
  return {
    url,
    historiesAt(at) {
      const histories = known.get(at) ?? historiesAt(lines, at);
      known.set(at, histories);
      return histories;
    },
  };
}

const everyRecordOf = new WeakMap<Searched, Map<string | undefined, RecordMatch[]>>();

/** All records as the domains have them, which the replay confirms but for `lastSeen`. */
export async function everyRecord(asked: Searched, at: string | undefined): Promise<RecordMatch[]> {
  const known = everyRecordOf.get(asked) ?? new Map<string | undefined, RecordMatch[]>();
  everyRecordOf.set(asked, known);
  const records = known.get(at) ?? (await recordsAt(asked, at));
  known.set(at, records);
  return records;
}

/** How many domains one request asks for. */
const DOMAINS_AT_ONCE = 50;

async function recordsAt({ url, historiesAt }: Searched, at: string | undefined): Promise<RecordMatch[]> {
  const histories = historiesAt(at);
  const records: RecordMatch[] = [];
  for (let from = 0; from < histories.length; from += DOMAINS_AT_ONCE) {
    const names = histories.slice(from, from + DOMAINS_AT_ONCE).map(({ domain }) => domain);
    const { data } = await ask(url, EVERY_RECORD, { names, at });
    const found: { name: string; dnsRecords: RecordMatch['record'][] }[] = data.domains;
    for (const { name, dnsRecords } of found) {
      for (const record of dnsRecords) records.push({ domain: name, record });
    }
  }
  const withoutLastSeen = records.map(({ domain, record: { lastSeen: _, ...rest } }) => ({
    domain,
    record: rest,
  }));
  expectSame(withoutLastSeen, histories.flatMap(recordsOf));
  return records;
}

/** Matches with their domains as of the same time, as GraphQL has them. */
function withDomains<Match extends { readonly domain: string }>(
  matches: readonly Match[],
  histories: readonly DomainHistory[],
) {
  const domains = new Map(
    histories.map((each) => [each.domain, { name: each.domain, lastChange: lastChangeOf(each) }]),
  );
  return matches.map((match) => ({ ...match, domain: domains.get(match.domain) }));
}

/** Compares lists, and shows only where they differ first: of long lists with long texts that would take minutes. */
export function expectSame(
  found: readonly unknown[],
  expected: readonly unknown[],
  where: object = {},
): void {
  const length = Math.max(found.length, expected.length);
  const at = Array.from({ length }, (_, place) => place).find(
    (place) => !isDeepStrictEqual(found[place], expected[place]),
  );
  if (at === undefined) return;
  const shown = (list: readonly unknown[]) => ({
    length: list.length,
    at,
    item: JSON.stringify(list[at])?.slice(0, 500),
  });
  expect(shown(found), JSON.stringify(where)).toEqual(shown(expected));
}

/** Compares a search for DNS records with a plain filter over all. @returns how many matches there are. */
export async function expectRecords(asked: Searched, where: Filter, paging: Paging): Promise<number> {
  const found = await walk(asked.url, RECORDS_FOUND, { where }, paging);
  const matches = (await everyRecord(asked, where.at)).filter((match) => meetsRecordFilter(match, where));
  expectSame(found, withDomains(matches, asked.historiesAt(where.at)), where);
  return found.length;
}

/** The same of HTTP headers. */
export async function expectHeaders(asked: Searched, where: Filter, paging: Paging): Promise<number> {
  const found = await walk(asked.url, HEADERS_FOUND, { where }, paging);
  const histories = asked.historiesAt(where.at);
  const matches = histories.flatMap(headerStaysOf).filter((match) => meetsHeaderFilter(match, where));
  expectSame(found, withDomains(matches, histories), where);
  return found.length;
}

/** The same of domains. */
export async function expectDomains(asked: Searched, where: Filter, paging: Paging): Promise<number> {
  const found = await walk(asked.url, DOMAINS_FOUND, { where }, paging);
  const expected = asked
    .historiesAt()
    .filter((history) => meetsDomainFilter(history, where))
    .map((history) => ({
      ...{ name: history.domain, created: history.created, lastUpdate: history.lastUpdate },
      lastChange: lastChangeOf(history),
    }));
  expectSame(found, expected, where);
  return found.length;
}
