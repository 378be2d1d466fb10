import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import { unseenOf } from '../../history/digest.js';
import {
  comparedParts,
  type Difference,
  differencesOf,
  type Expectation,
  type Found,
  HEADERS,
  partOf,
} from '../../history/expectation.js';
import { headerPeriods } from '../../history/header-periods.js';
import { isKnown, staysAsOf } from '../../history/stays-as-of.js';
import {
  expectationOfZone,
  expectationsOfObservations,
  expectationsOfYaml,
} from '../../importers/expectations.js';
import { type ImportFormat, InputParser } from '../../importers/formats.js';
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
import type { DomainCheck } from '../../observer/observe-domain.js';
import { readHistories } from '../../recorder/read-histories.js';
import { type CommandContext, stopSignal } from '../command-context.js';
import { parseDomain } from '../domain-arguments.js';
import { counted, jsonLine, writeText } from '../output.js';

/** A list of sightings, such as passive DNS, is complete for nothing. */
type CheckFormat = 'auto' | 'zone' | 'yaml' | 'json' | Exclude<ImportFormat, 'cof'>;

export interface CheckOptions {
  readonly format: CheckFormat;
  readonly origin?: string;
  readonly at?: Instant;
  readonly observe: boolean;
  readonly json: boolean;
}

/** As diff(1) has it: 1 is for what differs, and this for what could not be compared. */
const [DIFFERENT, NOT_COMPARED] = [1, 2];

/** What is compared with what should be. */
interface Comparison {
  /** What the file says of names that can be seen. */
  readonly expectations: readonly Expectation[];
  readonly found: ReadonlyMap<string, Found>;
  /** By domain: what the file says something of and was not observed, a DNS type, HEADERS, or a field, with the reason. */
  readonly unseen: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

export async function runCheck(context: CommandContext, file: string, options: CheckOptions): Promise<void> {
  context.failure.code = NOT_COMPARED;
  const { at, observe, json } = options;
  const all = await readExpectations(context, file, options);
  const { expectations, found, unseen }: Comparison = observe
    ? await observeExpected(context, all)
    : { expectations: all, ...(await findRecorded(context, all, at)) };
  const differences = differencesOf(expectations, found).filter((difference) => {
    const parts = unseen.get(difference.domain);
    const part = partOf(difference);
    return !(parts?.has(part) || (part === HEADERS && parts?.has(partOfField(difference.name))));
  });
  const text = differences.map(json ? asJson : asText).join('');
  if (text !== '') await writeText(context.stdout, text);
  const domains = new Set(differences.map(({ domain }) => domain));
  for (const domain of domains) {
    if (!found.has(domain))
      context.notes.write(`Nothing is recorded of ${domain}${at === undefined ? '' : ' up to then'}.\n`);
  }
  if (domains.size > 0) {
    context.setExitCode(DIFFERENT);
    const where = counted(domains.size, 'domain', 'domains');
    context.notes.write(`${counted(differences.length, 'difference', 'differences')} in ${where}.\n`);
  } else if (unseen.size === 0) context.notes.write('All is as it should be.\n');
  const parts = [...unseen].flatMap(([domain, reasons]) =>
    Array.from(reasons, ([part, reason]) => `${part} of ${domain} (${reason})`),
  );
  if (parts.length > 0)
    throw new OperationError(`Not compared, since it was not observed: ${parts.join(', ')}.`);
}

function partOfField(name: string): string {
  return `the header ${name}`;
}

/** The headers that a file says something of and an observer leaves out: whether the site sends them is unknown. */
function leftOut(
  expectations: readonly Expectation[],
  domain: string,
  isIgnored: (name: string) => boolean,
): [part: string, reason: string][] {
  return expectations
    .filter((each) => each.domain === domain)
    .flatMap(({ headers }) => [...headers.keys()])
    .filter(isIgnored)
    .map((name) => [partOfField(name), 'observers leave it out']);
}

/** @param domainsOf Where an owner name may be found. */
function domainsIn(
  expectations: readonly Expectation[],
  domainsOf = (owner: string, each: Expectation) => each.domainsOf(owner),
): readonly string[] {
  const named = expectations.flatMap((each) => [
    ...(each.domain === null ? [] : [each.domain]),
    ...each.records.flatMap(({ host }) => domainsOf(host, each)),
  ]);
  return [...new Set(named)];
}

async function findRecorded(
  context: CommandContext,
  expectations: readonly Expectation[],
  at: Instant | undefined,
): Promise<Pick<Comparison, 'found' | 'unseen'>> {
  const found = new Map<string, Found>();
  const ignored = alwaysIgnoring(context.settings().observe.ignoredHeaders);
  const unseen = new Map<string, ReadonlyMap<string, string>>();
  await context.withConnections('fail', async ({ pool }) => {
    for await (const history of readHistories(pool, domainsIn(expectations))) {
      if (!isKnown(history.state.created, at)) continue;
      const records = staysAsOf(history, at).filter(({ removed }) => removed === null);
      const headers = headerPeriods(history, at).filter(({ removed }) => removed === null);
      found.set(history.name, {
        records: records.map(({ record }) => record),
        headers: new Map(headers.map(({ name, value }) => [name, value])),
      });
      const recorded = new Set(history.headers.map(({ name }) => name));
      const unseenNow = new Set(unseenOf(history.state.http?.digest ?? ''));
      const parts = leftOut(
        expectations,
        history.name,
        (name) => unseenNow.has(name) || (!recorded.has(name) && ignored.has(name)),
      );
      if (parts.length > 0) unseen.set(history.name, new Map(parts));
    }
  });
  return { found, unseen };
}

/**
 * Observes what a file says something of, as `dms observe` does, and records nothing: each owner name is a domain, and the
 * types of its records are queried beside those of the settings.
 *
 * @throws OperationError where there is nothing to observe; where a signal, or the clock, ends it.
 */
async function observeExpected(context: CommandContext, all: readonly Expectation[]): Promise<Comparison> {
  // A wildcard's records, for one, are seen at other names.
  const canBeSeen = ({ host }: DnsRecord) => domainOfOwner(host) === host;
  const visible = all.map((each) => ({ ...each, records: each.records.filter(canBeSeen) }));
  const left = all.flatMap(({ records }) => records).filter((record) => !canBeSeen(record)).length;
  if (left > 0) {
    const records = counted(left, 'record', 'records');
    context.warn(`Not compared: ${records} of names that nobody can ask for, such as *.example.com.`);
  }
  const names = domainsIn(visible, (owner) => [owner]);
  if (names.length === 0) throw new OperationError('Nothing of what it says can be observed.');
  const types = visible.flatMap((each) => [...each.types, ...each.records.map(({ type }) => type)]);
  const checks = await checkAll(context, names, types);
  const found = new Map(checks.map((check) => [check.domain, foundBy(check)]));
  // An answer for a domain has other owner names only where its aliases lead there: the others were asked for by themselves.
  const expectations = visible.map((each) => ({
    ...each,
    domainsOf: (owner: string) => {
      const isThere = found.get(each.domain ?? '')?.records.some(({ host }) => host === owner);
      return [isThere === true ? (each.domain ?? owner) : owner];
    },
  }));
  const compared = comparedParts(expectations, found);
  const ignored = alwaysIgnoring(context.settings().observe.ignoredHeaders);
  const unseen = checks.map((check): [string, Map<string, string>] => {
    const failures = failuresOf(check).filter(([part]) => compared.get(check.domain)?.has(part));
    const isIgnored = (name: string) => ignored.has(name);
    return [check.domain, new Map([...failures, ...leftOut(expectations, check.domain, isIgnored)])];
  });
  return { expectations, found, unseen: new Map(unseen.filter(([, failures]) => failures.size > 0)) };
}

/** @param types Those to query beside the usual ones. */
async function checkAll(context: CommandContext, names: readonly string[], types: readonly string[]) {
  const settings = context.settings();
  // An export may say that it is complete for all types, which is none to query.
  const queried = types.filter((type) => typeNumber(type) !== undefined);
  const dnsTypes = [...new Set([...settings.observe.dnsTypes, ...queried])];
  const observing = { ...settings, observe: { ...settings.observe, dnsTypes } };
  const signal = stopSignal(context);
  const checks: DomainCheck[] = [];
  const take = async (seen: readonly DomainCheck[]) => {
    for (const check of seen) checks.push(check);
  };
  const { checkNow } = await import('./observe.js');
  await checkNow(context, observing, names, take, signal);
  if (signal.aborted) throw new OperationError('Stopped by a signal: nothing was compared.');
  return checks;
}

function foundBy({ dns, http }: DomainCheck): Found {
  return {
    records: [...dns.values()].flatMap((answer) => (answer.kind === 'answered' ? answer.records : [])),
    headers: http.kind === 'answered' ? http.headers : new Map(),
  };
}

/** The parts that could not be observed, DNS types and HEADERS, and why. */
function failuresOf({ dns, http }: DomainCheck): [string, string][] {
  return [...dns, [HEADERS, http] as const].flatMap(([part, answer]) =>
    answer.kind === 'failed' ? [[part, answer.failure.message]] : [],
  );
}

/** @throws OperationError for a file that cannot be read, is not valid, or says nothing. */
async function readExpectations(context: CommandContext, file: string, { format, origin }: CheckOptions) {
  const input = await openInput(file, context.stdin, () => {});
  const chunks: Buffer[] = [];
  for await (const chunk of input.bytes) chunks.push(chunk);
  const octets = Buffer.concat(chunks);
  const form = format === 'auto' ? formOf(octets.toString()) : format;
  try {
    const expectations = await expectationsIn(context, octets, { form, origin });
    const says = ({ records, types, headers, allHeaders }: Expectation) =>
      records.length + types.size + headers.size > 0 || allHeaders;
    if (expectations.some(says)) return expectations;
    throw new InvalidObservationError('it says nothing of what should be.');
  } catch (error) {
    if (!(error instanceof InvalidObservationError || error instanceof InvalidDomainError)) throw error;
    const read = `It was read as ${form === 'auto' ? 'observations' : form}: use --format if it is something else.`;
    throw new OperationError(`${input.name}, ${error.message}${format === 'auto' ? ` ${read}` : ''}`);
  }
}

async function expectationsIn(
  context: CommandContext,
  octets: Buffer,
  { form, origin }: { readonly form: CheckFormat; readonly origin: string | undefined },
): Promise<readonly Expectation[]> {
  if (!isUtf8(octets)) throw new InvalidObservationError('the file is not UTF-8.');
  const text = octets.toString();
  if (form === 'yaml' || form === 'json') return expectationsOfYaml(text);
  if (form !== 'zone') return expectationsOfObservations(await observationsIn(context, octets, form));
  return [expectationOfZone(text, origin === undefined ? undefined : `${parseDomain(origin)}.`)];
}

/** A JSON object has `records` or `headers`, which no observation has; else YAML is told by how it begins. */
function formOf(text: string): CheckFormat {
  const [first = ''] = /^.+/.exec(text.replace(/^\ufeff?\s*/, '')) ?? [];
  if (/^[{[]/.test(first)) return /(?<!\\)"(?:records|headers)"\s*:/.test(text) ? 'json' : 'auto';
  return /^(?:---|#|%YAML|- |(?:domain|records|headers)\s*:)/.test(first) ? 'yaml' : 'zone';
}

async function observationsIn(
  context: CommandContext,
  octets: Buffer,
  format: 'auto' | ImportFormat,
): Promise<readonly Observation[]> {
  const { limits, observe } = context.settings();
  const { now } = context;
  const options = { now, limits, ignoredHeaders: observe.ignoredHeaders, observedAt: now() };
  const parser = new InputParser(format, { ...options, onDetected: () => {} });
  const observations: Observation[] = [];
  for await (const lines of readJsonTexts(Readable.from([octets]), limits.line)) {
    for (const line of lines) {
      const said = parser.parse(line);
      if (typeof said === 'string') throw new InvalidObservationError(`line ${line.number}: ${said}`);
      for (const observation of said.observations) observations.push(observation);
    }
  }
  return observations;
}

/** Of the record's data, as a master file has it where one can. */
function rdataOf(record: DnsRecord): string {
  return attempt(() => presentRdata(record)) ?? record.rdata;
}

function asText({ domain, name, expected, found }: Difference): string {
  const line = (mark: string, value: DnsRecord | string | null) => {
    if (value === null) return '';
    const shown =
      typeof value === 'string' ? `${domain} ${name}: ${value}` : `${name} ${value.type} ${rdataOf(value)}`;
    return `${mark} ${printable(shown)}\n`;
  };
  return line('-', expected) + line('+', found);
}

function asJson({ domain, name, expected, found }: Difference): string {
  const side = expected ?? found;
  const type = side === null || typeof side === 'string' ? 'header' : side.type;
  const kind = found === null ? 'missing' : expected === null ? 'unexpected' : 'different';
  const [one, other] = [expected, found].map((value) =>
    value === null || typeof value === 'string' ? value : rdataOf(value),
  );
  return jsonLine({ domain, kind, type, name, expected: one, found: other });
}
