import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { unseenOf } from '../../history/digest.js';
import { type Difference, differencesOf, type Expectation, type Found } from '../../history/expectation.js';
import { headerPeriods, isKnown, staysAsOf } from '../../history/stays-as-of.js';
import {
  expectationOfZone,
  expectationsOfObservations,
  expectationsOfYaml,
} from '../../importers/expectations.js';
import { InputParser } from '../../importers/formats.js';
import type { ImportFormat } from '../../importers/import-format.js';
import { readJsonTexts } from '../../importers/json-texts.js';
import { openInput } from '../../importers/open-input.js';
import { attempt } from '../../model/attempt.js';
import type { DnsRecord } from '../../model/dns-record.js';
import { typeNumber } from '../../model/dns-types.js';
import { domainOfOwner } from '../../model/domain-name.js';
import { InvalidDomainError, InvalidObservationError, OperationError } from '../../model/errors.js';
import { alwaysIgnoring } from '../../model/ignored-headers.js';
import type { Instant } from '../../model/instant.js';
import type { Observation } from '../../model/observation.js';
import { presentRdata } from '../../model/rdata-text.js';
import { printable } from '../../model/text.js';
import { checkAll } from '../../observer/check-all.js';
import type { DomainCheck } from '../../observer/observe-domain.js';
import { readHistories } from '../../recorder/read-histories.js';
import { type CommandContext, now, stopSignal } from '../command-context.js';
import { parseDomain } from '../domain-arguments.js';
import { counted, jsonLine, writeText } from '../output.js';

type CheckFormat = 'auto' | 'zone' | 'yaml' | 'json' | ImportFormat;

interface CheckOptions {
  readonly format: CheckFormat;
  readonly origin?: string;
  readonly at?: Instant;
  readonly observe: boolean;
  readonly json: boolean;
}

const HEADERS = 'headers';

/** As diff(1) has it: 1 is for what differs, and this for what could not be compared. */
const [DIFFERENT, NOT_COMPARED] = [1, 2];

interface Seen extends Found {
  /** Why a part, a DNS type or HEADERS, was not observed. */
  readonly failures: ReadonlyMap<string, string>;
  /** Whether observers leave a header out: whether the site sends it is unknown. */
  isLeftOut(header: string): boolean;
}

export async function runCheck(context: CommandContext, file: string, options: CheckOptions): Promise<void> {
  context.failure.code = NOT_COMPARED;
  const { at, observe, json } = options;
  const all = await readExpectations(context, file, options);
  const { expectations, found } = await (observe
    ? observeExpected(context, all)
    : findRecorded(context, all, at));
  const { seen, unseen } = separateUnseen(expectations, found);
  const differences = differencesOf(seen, found);
  await writeText(context.stdout, differences.map(json ? asJson : asText).join(''));
  const domains = new Set(differences.map(({ domain }) => domain));
  const upTo = at === undefined ? '' : ' up to then';
  for (const domain of domains) {
    if (!found.has(domain)) context.note(`Nothing is recorded of ${domain}${upTo}.\n`);
  }
  if (domains.size > 0) {
    context.setExitCode(DIFFERENT);
    const where = counted(domains.size, 'domain');
    context.note(`${counted(differences.length, 'difference')} in ${where}.\n`);
  } else if (unseen.size === 0) context.note('All is as it should be.\n');
  if (unseen.size > 0)
    throw new OperationError(`Not compared, since it was not observed: ${[...unseen].join(', ')}.`);
}

/** @returns the expectations without what was not observed, and why that was not. */
function separateUnseen(expectations: readonly Expectation[], found: ReadonlyMap<string, Seen>) {
  const unseen = new Set<string>();
  const isObserved = (domain: string, part: string, reason = found.get(domain)?.failures.get(part)) => {
    if (reason !== undefined) unseen.add(`${part} of ${domain} (${reason})`);
    return reason === undefined;
  };
  const seen = expectations.map((each): Expectation => {
    const { domain, domainsOf } = each;
    const records = each.records.filter(({ host, type }) => isObserved(domainsOf(host)[0] ?? host, type));
    if (domain === null) return { ...each, records };
    const hasHeaders = (each.allHeaders || each.headers.size > 0) && isObserved(domain, HEADERS);
    const headers = [...each.headers].filter(([name]) => {
      const reason = found.get(domain)?.isLeftOut(name) === true ? 'observers leave it out' : undefined;
      return hasHeaders && isObserved(domain, `the header ${name}`, reason);
    });
    return {
      ...each,
      records,
      types: new Set(typesIn(each).filter((type) => isObserved(domain, type))),
      headers: new Map(headers),
      allHeaders: each.allHeaders && hasHeaders,
    };
  });
  return { seen, unseen };
}

function typesIn({ types, records }: Expectation): readonly string[] {
  return [...types, ...records.map(({ type }) => type)];
}

function domainsIn(expectations: readonly Expectation[]): readonly string[] {
  const named = expectations.flatMap(({ domain, domainsOf, records }) => [
    domain ?? [],
    ...records.map(({ host }) => domainsOf(host)),
  ]);
  return [...new Set(named.flat())];
}

async function findRecorded(context: CommandContext, all: readonly Expectation[], at: Instant | undefined) {
  const found = new Map<string, Seen>();
  const ignored = alwaysIgnoring(context.settings().observe.ignoredHeaders);
  await context.withConnections('fail', async ({ pool }) => {
    for await (const history of readHistories(pool, domainsIn(all))) {
      if (!isKnown(history.state.created, at)) continue;
      const records = staysAsOf(history, at).filter(({ removed }) => removed === null);
      const headers = headerPeriods(history, at).filter(({ removed }) => removed === null);
      const recorded = new Set(history.headers.map(({ name }) => name));
      const unseen = new Set(unseenOf(history.state.http?.digest ?? ''));
      found.set(history.name, {
        records: records.map(({ record }) => record),
        headers: new Map(headers.map(({ name, value }) => [name, value])),
        failures: new Map(),
        isLeftOut: (name) => unseen.has(name) || (!recorded.has(name) && ignored.has(name)),
      });
    }
  });
  return { expectations: all, found };
}

/**
 * Each owner name is observed as a domain, and the types of its records beside those of the settings.
 *
 * @throws OperationError where there is nothing to observe; where a signal, or the clock, ends it.
 */
async function observeExpected(context: CommandContext, all: readonly Expectation[]) {
  const found = new Map<string, Seen>();
  const expectations = all.map((each) => ({
    ...each,
    // A wildcard's records, for one, are seen at other names.
    records: each.records.filter(({ host }) => domainOfOwner(host) === host),
    // An answer for a domain has other owner names only where its aliases lead there: the others are asked for
    // by themselves.
    domainsOf: (owner: string) => {
      const isThere = found.get(each.domain ?? '')?.records.some(({ host }) => host === owner);
      return [isThere === true ? (each.domain ?? owner) : owner];
    },
  }));
  const count = (list: readonly Expectation[]) => list.flatMap(({ records }) => records).length;
  const left = count(all) - count(expectations);
  if (left > 0) {
    const records = counted(left, 'record');
    context.warn(`Not compared: ${records} of names that nobody can ask for, such as *.example.com.`);
  }
  const names = domainsIn(expectations);
  if (names.length === 0) throw new OperationError('Nothing of what it says can be observed.');
  const settings = context.settings();
  // An export may say that it is complete for all types, which is none to query.
  const types = expectations.flatMap(typesIn).filter((type) => typeNumber(type) !== undefined);
  const dnsTypes = [...new Set([...settings.observe.dnsTypes, ...types])];
  const observing = { ...settings, observe: { ...settings.observe, dnsTypes } };
  const signal = stopSignal(context);
  const ignored = alwaysIgnoring(settings.observe.ignoredHeaders);
  const take = async (checks: readonly DomainCheck[]) => {
    for (const check of checks) found.set(check.domain, seenBy(check, ignored));
  };
  // Imported lazily: a check of what is recorded needs none.
  const { observerOf } = await import('./observe.js');
  await checkAll(observerOf(context, observing), names, take, { signal, now });
  if (signal.aborted) throw new OperationError('Stopped by a signal: nothing was compared.');
  return { expectations, found };
}

function seenBy({ dns, http }: DomainCheck, ignored: ReadonlySet<string>): Seen {
  return {
    records: [...dns.values()].flatMap((answer) => (answer.kind === 'answered' ? answer.records : [])),
    headers: http.kind === 'answered' ? http.headers : new Map(),
    failures: new Map(
      [...dns, [HEADERS, http] as const].flatMap(([part, answer]) =>
        answer.kind === 'failed' ? [[part, answer.failure.message] as const] : [],
      ),
    ),
    isLeftOut: (name) => ignored.has(name),
  };
}

/** @throws OperationError for a file that cannot be read, is not valid, or says nothing. */
async function readExpectations(context: CommandContext, file: string, { format, origin }: CheckOptions) {
  const input = await openInput(file, context.stdin, () => {});
  const octets = await buffer(input.bytes);
  const form = format === 'auto' ? formOf(octets.toString()) : format;
  try {
    const expectations = await expectationsIn(context, octets, form, origin);
    const says = ({ records, types, headers, allHeaders }: Expectation) =>
      records.length + types.size + headers.size > 0 || allHeaders;
    if (expectations.some(says)) return expectations;
    throw new InvalidObservationError('it says nothing of what should be.');
  } catch (error) {
    if (!(error instanceof InvalidObservationError || error instanceof InvalidDomainError)) throw error;
    const read = ` It was read as ${form === 'auto' ? 'observations' : form}: use --format if it is something else.`;
    throw new OperationError(`${input.name}, ${error.message}${format === 'auto' ? read : ''}`);
  }
}

/** A JSON object has `records` or `headers`, which no observation has; else YAML is told by how it begins. */
function formOf(text: string): CheckFormat {
  const [first = ''] = /^.+/.exec(text.replace(/^\ufeff?\s*/, '')) ?? [];
  if (/^[{[]/.test(first)) return /(?<!\\)"(?:records|headers)"\s*:/.test(text) ? 'json' : 'auto';
  return /^(?:---|#|%YAML|- |(?:domain|records|headers)\s*:)/.test(first) ? 'yaml' : 'zone';
}

async function expectationsIn(context: CommandContext, octets: Buffer, form: CheckFormat, origin?: string) {
  if (!isUtf8(octets)) throw new InvalidObservationError('the file is not UTF-8.');
  const text = octets.toString();
  if (form === 'yaml' || form === 'json') return expectationsOfYaml(text);
  if (form === 'zone')
    return [expectationOfZone(text, origin === undefined ? origin : `${parseDomain(origin)}.`)];
  const { limits, observe } = context.settings();
  const { ignoredHeaders } = observe;
  const parsing = { now, limits, ignoredHeaders, observedAt: now(), onDetected: () => {} };
  const parser = new InputParser(form, parsing);
  const observations: Observation[] = [];
  for await (const lines of readJsonTexts(Readable.from([octets]), limits.line)) {
    for (const line of lines) {
      const { observations: found, rejected } = parser.parse(line);
      if (rejected !== undefined) throw new InvalidObservationError(`line ${line.number}: ${rejected}`);
      for (const observation of found) observations.push(observation);
    }
  }
  return expectationsOfObservations(observations);
}

/** Rdata is as a master file has it where one can. */
function valueText(value: DnsRecord | string | null): string | null {
  if (value === null || typeof value === 'string') return value;
  return attempt(() => presentRdata(value)) ?? value.rdata;
}

function asText({ domain, name, expected, found }: Difference): string {
  const line = (mark: string, value: DnsRecord | string | null) => {
    if (value === null) return '';
    const what = typeof value === 'string' ? `${domain} ${name}:` : `${name} ${value.type}`;
    return `${mark} ${printable(`${what} ${valueText(value)}`)}\n`;
  };
  return line('-', expected) + line('+', found);
}

function asJson({ domain, name, expected, found }: Difference): string {
  const side = expected ?? found;
  const type = side === null || typeof side === 'string' ? 'header' : side.type;
  const kind = found === null ? 'missing' : expected === null ? 'unexpected' : 'different';
  return jsonLine({ domain, kind, type, name, expected: valueText(expected), found: valueText(found) });
}
