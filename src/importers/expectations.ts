import { isMap, isNode, isSeq, LineCounter, type Node, parseAllDocuments } from 'yaml';
import type { Expectation } from '../history/expectation.js';
import { type DnsRecord, parseDnsRecord } from '../model/dns-record.js';
import { domainOfOwner, parseDomainName } from '../model/domain-name.js';
import { invalidValue } from '../model/errors.js';
import { addTo } from '../model/groups.js';
import { addHeaderField, joinHeaderFields } from '../model/header-fields.js';
import { ancestorsOf } from '../model/host-name.js';
import { isJsonObject, readAt, requireKey, requireText, requireTexts } from '../model/json-values.js';
import type { Observation } from '../model/observation.js';
import { registrableDomain } from '../model/registrable-domain.js';
import { previewFirst } from '../recorder/recorder.js';
import { requireObject } from './dns-answers.js';
import { parseZone } from './zone.js';

const KEYS = new Set(['domain', 'records', 'headers']);

/** @throws InvalidObservationError as parseZone() does. */
export function expectationOfZone(text: string, origin?: string): Expectation {
  const records = parseZone(text, origin);
  const domainsOf = (owner: string) => {
    const domain = domainOfOwner(owner) ?? owner;
    return [domain, ...between(domain, registrableDomain(domain) ?? domain)];
  };
  const types = new Set<string>();
  return { domain: null, domainsOf, records, types, headers: new Map(), allOwners: false, allHeaders: false };
}

/** The names above a name, the nearest first, up to `last`; none where that is not above it. */
function between(name: string, last: string): readonly string[] {
  const above = ancestorsOf(name);
  return above.slice(0, above.indexOf(last) + 1);
}

/** The state after the latest observation of each domain. Sightings are complete for nothing. */
export function expectationsOfObservations(observations: readonly Observation[]): Expectation[] {
  const byDomain = new Map<string, Observation[]>();
  for (const observation of observations)
    if (observation.dns?.sighted !== true) addTo(byDomain, observation.domain, observation);
  return Array.from(byDomain, ([domain, all]) => {
    all.sort((one, other) => Number(one.observedAt - other.observedAt));
    const changes = previewFirst(all).changes.get(domain);
    const headers = new Map((changes?.headers ?? []).map(({ name, value }) => [name, value] as const));
    const types = new Set(all.flatMap(({ dns }) => [...(dns?.types ?? []), ...(dns?.records.keys() ?? [])]));
    const present = (changes?.added ?? []).filter(({ removal }) => removal === null);
    const records = present.map(({ record }) => record);
    const allHeaders = all.some(({ httpHeaders }) => httpHeaders !== undefined);
    return { domain, domainsOf: () => [domain], records, types, headers, allOwners: false, allHeaders };
  });
}

/** Of YAML, or JSON, which is YAML. @throws InvalidObservationError that begins with the line of the fault. */
export function expectationsOfYaml(text: string): Expectation[] {
  const lines = new LineCounter();
  const lineOf = (offset: number) => `line ${lines.linePos(offset).line}`;
  return [...parseAllDocuments(text, { lineCounter: lines })].flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined)
      throw invalidValue(`${lineOf(error.pos[0])}: ${error.message.split(/ at line|\n/)[0]}.`);
    const { contents } = document;
    if (contents === null) return [];
    const items = isSeq(contents) ? contents.items : [contents];
    return items.filter(isNode).map((item) => {
      const at: At = (path, read) =>
        readAt([lineOf(startOf(item, path)), path.join('.')].filter(Boolean).join(': '), read);
      return expectationOf(item.toJS(document), at);
    });
  });
}

/** Where a value is in its text; of a missing one, the nearest that has it. */
function startOf(item: Node, path: readonly (string | number)[]): number {
  const node = isMap(item) && path.length > 0 ? item.getIn(path, true) : item;
  if (isNode(node) || path.length === 0) return (isNode(node) ? node : item).range?.[0] ?? 0;
  return startOf(item, path.slice(0, -1));
}

type At = <Result>(path: readonly (string | number)[], read: () => Result) => Result;

function expectationOf(value: unknown, at: At): Expectation {
  const object = at([], () => requireObject(value));
  for (const key in object) at([key], () => requireKey(key, KEYS));
  const { records = [], headers = {} } = object;
  const domain = at(['domain'], () => parseDomainName(requireText(object['domain'])));
  const listed: readonly unknown[] = at(['records'], () => {
    if (Array.isArray(records)) return records;
    throw invalidValue('it is not a list.');
  });
  const fields = Object.entries(at(['headers'], () => requireObject(headers)));
  return {
    domain,
    // Names below the domain may be recorded as domains of their own.
    domainsOf: (owner) => {
      const nearest = domainOfOwner(owner) ?? owner;
      const above = between(nearest, domain);
      return above.length === 0 ? [domain] : [nearest, ...above];
    },
    records: listed.flatMap((each, place) => at(['records', place], () => recordsOf(each, domain))),
    types: new Set(),
    allOwners: true,
    headers: new Map(fields.flatMap(([name, each]) => at(['headers', name], () => headerOf(name, each)))),
    allHeaders: false,
  };
}

function recordsOf(value: unknown, domain: string): DnsRecord[] {
  if (typeof value === 'string') return parseZone(value, `${domain}.`);
  return [parseDnsRecord(isJsonObject(value) ? { class: 'IN', ...value } : value)];
}

function headerOf(name: string, value: unknown): [string, string | null][] {
  const fields = new Map<string, string[]>();
  // YAML takes `0` and `true` for a number and a truth value.
  const requireQuoted = () => [readAt('write it in quotes', () => requireText(value ?? ''))];
  for (const text of Array.isArray(value) ? requireTexts(value) : requireQuoted())
    addHeaderField(fields, name, text);
  return Array.from(joinHeaderFields(fields), ([key, joined]) => [key, value === null ? null : joined]);
}
