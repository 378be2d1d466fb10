import { setMaxListeners } from 'node:events';
import { type DnsRecord, recordsByType } from '../model/dns-record.js';
import { ancestorsOf } from '../model/host-name.js';
import type { Instant } from '../model/instant.js';
import {
  excessOfHeaders,
  excessOfRecords,
  type Observation,
  type ObservationLimits,
} from '../model/observation.js';
import { parseRdata } from '../model/rdata-types.js';
import type { DnsClient } from './dns/client.js';
import type { HttpClient } from './http/client.js';
import type { Priority } from './limiter.js';
import { addressesOf, type DnsAnswer, type DnsAnswers, failed, type HttpAnswer } from './verdict.js';

export type DomainObserver = ReturnType<typeof createDomainObserver>;

export type DomainCheck = Awaited<ReturnType<DomainObserver['check']>>;

interface DomainObserverOptions {
  readonly dns: DnsClient;
  readonly http: HttpClient;
  /** The DNS types to query, A and AAAA among them: HTTP is observed at their addresses. */
  readonly types: readonly string[];
  /** Those that `http` leaves out. */
  readonly ignoredHeaders: ReadonlySet<string>;
  /** What one observation may hold: a part with more has failed; the others are not affected. */
  readonly limits: ObservationLimits;
  readonly source: string;
}

/** The reason of a signal that ends a check because it took too long. */
export const CHECK_TIMEOUT = new Error('the check took too long');

const UNRESOLVED = failed('no-address', 'its addresses could not be resolved');

export function createDomainObserver(options: DomainObserverOptions) {
  const { types, limits, ignoredHeaders, source } = options;
  return {
    /**
     * Checks a domain once. It never rejects: what could not be observed has a failure.
     *
     * @param signal Ends it: what is not observed yet has the failure `stopped`, or `timeout` where the reason
     * is CHECK_TIMEOUT.
     * @returns `observation`: what there is to record; null: no part was observed. `duration` in milliseconds.
     */
    async check(domain: string, observedAt: Instant, signal: AbortSignal, priority: Priority = 'normal') {
      // Each query that waits has a listener, and Node.js takes more than ten for a leak.
      setMaxListeners(0, signal);
      const began = performance.now();
      const answers = await options.dns.query(domain, types, signal, priority);
      const dns: DnsAnswers = new Map(
        [...withAliases(answers)].map(([type, answer]) => {
          const excess = excessOfRecords(type, recordsOf(answer).length, limits);
          return [type, excess === null ? withTimeout(answer, signal) : failed('too-many', excess)];
        }),
      );
      const addresses = siteAddresses(dns);
      const found = addresses === null ? UNRESOLVED : await options.http.observe(domain, addresses, signal);
      const http = limitHeaders(withTimeout(found, signal), limits);
      const parts = {
        ...dnsObservation(dns, observedOwners(domain, answers, dns)),
        ...siteObservation(http, ignoredHeaders),
      };
      const isEmpty = parts.dns === undefined && http.kind === 'failed';
      const observation: Observation | null = isEmpty ? null : { domain, observedAt, source, ...parts };
      return { domain, observedAt, duration: performance.now() - began, dns, http, observation };
    },
  };
}

/**
 * In place of `stopped` where the time for the whole check was over: waiting for a place at a resolver or an
 * address counts towards no other timeout.
 */
function withTimeout<Answer extends DnsAnswer | HttpAnswer>(answer: Answer, signal: AbortSignal): Answer {
  const isStopped = answer.kind === 'failed' && answer.failure.code === 'stopped';
  if (!isStopped || signal.reason !== CHECK_TIMEOUT) return answer;
  return { ...answer, ...failed('timeout', 'no answer in the time for one check') };
}

function limitHeaders(answer: HttpAnswer, limits: ObservationLimits): HttpAnswer {
  if (answer.kind === 'failed') return answer;
  const excess = excessOfHeaders(answer.headers, limits);
  return excess === null
    ? answer
    : { ...failed('too-large', excess), httpsDeclined: answer.scheme === 'http' };
}

/**
 * Those that DNS has just answered, so that records and headers are of the same moment, and no name is resolved
 * twice; null: they are not known.
 */
function siteAddresses(dns: DnsAnswers): readonly string[] | null {
  const [ipv4, ipv6] = [dns.get('A'), dns.get('AAAA')];
  // A site with IPv4 addresses is observed at these: without them it would be observed at others than the time
  // before.
  const isKnown = ipv4?.kind === 'answered' && (ipv4.records.length > 0 || ipv6?.kind === 'answered');
  return isKnown ? addressesOf([...ipv4.records, ...recordsOf(ipv6)]) : null;
}

/** HTTP is tried only where HTTPS was declined. */
function siteObservation(http: HttpAnswer, ignoredHeaders: ReadonlySet<string>): Partial<Observation> {
  if (http.kind === 'failed') return http.httpsDeclined === true ? { httpsDeclined: true } : {};
  const { scheme, status, address, headers: httpHeaders } = http;
  const response = { scheme, status, address };
  return { httpHeaders, ignoredHeaders, response, httpsDeclined: scheme === 'http' };
}

const LINK_TYPES = ['CNAME', 'DNAME'];

/** Adds every alias that led to the records of other types to the answers for CNAME and DNAME. */
function withAliases(answers: DnsAnswers): DnsAnswers {
  const own = LINK_TYPES.flatMap((type) => recordsOf(answers.get(type)));
  const links = recordsByType([...own, ...[...answers.values()].flatMap(({ aliases = [] }) => aliases)]);
  const joined = new Map(answers);
  for (const [type, records] of links) {
    joined.set(type, { kind: 'answered', nameExists: true, records, aliases: [] });
  }
  return joined;
}

/** See DnsObservation. Of the types of aliases, what the answers show is not all that there is. */
function observedOwners(domain: string, answers: DnsAnswers, verdicts: DnsAnswers) {
  const owners = new Map<string, ReadonlySet<string>>();
  const complete = completeChains(answers);
  for (const type of LINK_TYPES) {
    const hosts = new Set(recordsOf(verdicts.get(type)).map(({ host }) => host));
    if (complete.length === 0 && hosts.size > 0) owners.set(type, hosts);
  }
  // The names below a DNAME show it, whether it was queried or not; of those at and below the domain nothing is
  // known.
  if (!answers.has('DNAME') && complete.length > 0 && verdicts.get('DNAME')?.kind !== 'failed') {
    const rdata = complete.flatMap(({ aliases }) => aliases.map((alias) => parseRdata(alias.rdata)));
    const names = [domain, ...rdata.map(({ target, data }) => String(target ?? data))];
    owners.set('DNAME', new Set(names.flatMap(ancestorsOf)));
  }
  return owners;
}

/**
 * The answers that show a chain of aliases to its end, or that there is none: those with aliases or records.
 * The answer for CNAME alone does not show where the CNAME leads, and one without that CNAME does not count.
 */
function completeChains(answers: DnsAnswers) {
  const own = recordsOf(answers.get('CNAME')).map(textOf);
  return [...answers].flatMap(([type, answer]) => {
    if (answer.kind === 'failed' || type === 'CNAME') return [];
    const links = new Set(answer.aliases.map(textOf));
    const isChain = own.every((link) => links.has(link)) && links.size + answer.records.length > 0;
    return isChain ? [answer] : [];
  });
}

function recordsOf(answer: DnsAnswer | undefined): readonly DnsRecord[] {
  return answer?.kind === 'answered' ? answer.records : [];
}

function textOf({ type, host, rdata }: DnsRecord): string {
  return `${type} ${host} ${rdata}`;
}

/** Types without an answer keep their records. */
function dnsObservation(verdicts: DnsAnswers, owners: ReturnType<typeof observedOwners>) {
  const types = new Set([...verdicts.keys()].filter((type) => verdicts.get(type)?.kind === 'answered'));
  if (types.size === 0) return {};
  const records = recordsByType([...verdicts.values()].flatMap(recordsOf));
  return { dns: owners.size === 0 ? { types, records } : { types, observedOwners: owners, records } };
}
