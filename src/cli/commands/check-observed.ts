import { comparedParts, type Expectation, type Found, HEADERS } from '../../history/expectation.js';
import { typeNumber } from '../../model/dns-types.js';
import { domainOfOwner } from '../../model/domain-name.js';
import { OperationError } from '../../model/errors.js';
import type { DomainCheck } from '../../observer/observe-domain.js';
import { type CommandContext, stopSignal } from '../command-context.js';
import { counted } from '../output.js';
import { checkNow } from './observe.js';

/** What there is now of the domains of a file. */
interface Observed {
  /** What the file says of names that can be observed. */
  readonly expectations: readonly Expectation[];
  readonly found: ReadonlyMap<string, Found>;
  /** By domain: what the file says something of and could not be observed, a DNS type or HEADERS, with the reason. */
  readonly unseen: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/**
 * Observes what a file says something of, as `dms observe` does, and records nothing: each owner name is a domain, and the
 * types of its records are queried beside those of the settings.
 *
 * @throws OperationError where there is nothing to observe; where a signal, or the clock, ends it.
 */
export async function observeExpected(
  context: CommandContext,
  all: readonly Expectation[],
): Promise<Observed> {
  const expectations = all.map((each) => ({ ...each, records: each.records.filter(isOfDomain) }));
  const left = countRecords(all) - countRecords(expectations);
  if (left > 0) {
    const records = counted(left, 'record', 'records');
    context.warn(`dms: Not compared: ${records} of names that nobody can ask for, such as *.example.com.\n`);
  }
  const names = expectations.flatMap(({ domain, domainsOf, records }) => [
    ...(domain === null ? [] : [domain]),
    ...records.flatMap(({ host }) => domainsOf(host).slice(0, 1)),
  ]);
  if (names.length === 0) throw new OperationError('Nothing of what it says can be observed.');
  const types = expectations.flatMap((each) => [...each.types, ...each.records.map(({ type }) => type)]);
  const checks = await checkAll(context, [...new Set(names)], types);
  const found = new Map(Array.from(checks, ([domain, check]) => [domain, foundBy(check)] as const));
  const parts = comparedParts(expectations, found);
  const unseen = Array.from(parts, ([domain, compared]) => {
    const reasons = failuresOf(checks.get(domain));
    return [domain, new Map([...reasons].filter(([part]) => compared.has(part)))] as const;
  });
  return { expectations, found, unseen: new Map(unseen.filter(([, reasons]) => reasons.size > 0)) };
}

/** A wildcard's records, for one, are seen at other names. */
function isOfDomain({ host }: Expectation['records'][number]): boolean {
  return domainOfOwner(host) === host;
}

function countRecords(expectations: readonly Expectation[]): number {
  return expectations.reduce((sum, { records }) => sum + records.length, 0);
}

/** @param types Those to query beside the usual ones. */
async function checkAll(
  context: CommandContext,
  names: readonly string[],
  types: readonly string[],
): Promise<ReadonlyMap<string, DomainCheck>> {
  const settings = context.settings();
  // An export may say that it is complete for all types, which is none to query.
  const queried = types.filter((type) => typeNumber(type) !== undefined);
  const dnsTypes = [...new Set([...settings.observe.dnsTypes, ...queried])];
  const observing = { ...settings, observe: { ...settings.observe, dnsTypes } };
  const signal = stopSignal(context);
  const checks = new Map<string, DomainCheck>();
  const take = async (seen: readonly DomainCheck[]) => {
    for (const check of seen) checks.set(check.domain, check);
  };
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

/** Why parts of a domain could not be observed: DNS types, and HEADERS. */
function failuresOf(check: DomainCheck | undefined): ReadonlyMap<string, string> {
  const parts = [...(check?.dns ?? []), ...(check === undefined ? [] : [[HEADERS, check.http] as const])];
  return new Map(
    parts.flatMap(([part, answer]) =>
      answer.kind === 'failed' ? [[part, answer.failure.message] as const] : [],
    ),
  );
}
