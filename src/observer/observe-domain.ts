import { type DnsRecord, recordsByType } from '../model/dns-record.js';
import { ancestorsOf } from '../model/host-name.js';
import type { Instant } from '../model/instant.js';
import {
  excessOfHeaders,
  excessOfRecords,
  type Observation,
  type ObservationLimits,
} from '../model/observation.js';
import { parseRdata } from '../model/rdata-values.js';
import { addressesOf, type DnsAnswer } from './dns/answer.js';
import type { DnsClient } from './dns/client.js';
import { type Failure, failed } from './failure.js';
import type { HttpAnswer, HttpClient } from './http/client.js';
import type { Priority } from './limiter.js';
import { LookClock } from './look-clock.js';

export interface DomainCheck {
  readonly domain: string;
  readonly observedAt: Instant;
  /** In milliseconds. */
  readonly duration: number;
  readonly dns: ReadonlyMap<string, DnsAnswer>;
  readonly http: HttpAnswer;
  /** What there is to record; null: no part was observed. */
  readonly observation: Observation | null;
  /** Why nothing was queried: the time cannot be right. Absent: it can. */
  readonly clockFault?: string;
}

export type DomainObserver = ReturnType<typeof createDomainObserver>;

interface DomainObserverOptions {
  readonly dns: DnsClient;
  readonly http: HttpClient;
  /** The DNS types to query, A and AAAA among them: HTTP is observed at their addresses. */
  readonly types: readonly string[];
  /** Those that `http` leaves out. */
  readonly ignoredHeaders: ReadonlySet<string>;
  /** What one observation may hold: a part with more has failed; the others are not affected. */
  readonly limits: ObservationLimits;
  readonly now: () => Instant;
  readonly source: string;
}

/** The reason of a signal that ends a check because it took too long. */
export const CHECK_TIMEOUT = new Error('the check took too long');

export function createDomainObserver(options: DomainObserverOptions) {
  const { types, limits, ignoredHeaders, source } = options;
  const clock = new LookClock();
  return {
    /**
     * Checks a domain once. It never rejects: what could not be observed has a failure.
     *
     * @param signal Ends it: what is not observed yet has the failure `stopped`, or `timeout` where the
     * reason is CHECK_TIMEOUT.
     */
    async check(
      domain: string,
      signal = new AbortController().signal,
      priority: Priority = 'normal',
    ): Promise<DomainCheck> {
      const observedAt = options.now();
      const clockFault = clock.faultOf(observedAt);
      if (clockFault !== null) {
        const http = failed('clock', clockFault);
        const dns = new Map(types.map((type) => [type, http]));
        return { domain, observedAt, duration: 0, dns, http, observation: null, clockFault };
      }
      const began = performance.now();
      const joined = joinAnswers(domain, await options.dns.query(domain, types, signal, priority));
      const dns = new Map<string, DnsAnswer>();
      for (const [type, answer] of joined.dns) {
        dns.set(type, limitRecords(type, withTimeout(answer, signal), limits));
      }
      const addresses = siteAddresses(dns);
      const site = addresses === null ? UNRESOLVED : await options.http.observe(domain, addresses, signal);
      const http = limitHeaders(withTimeout(site, signal), limits);
      const parts = { ...dnsObservation({ ...joined, dns }), ...siteObservation(http, ignoredHeaders) };
      const isEmpty = parts.dns === undefined && http.kind === 'failed';
      const observation = isEmpty ? null : { domain, observedAt, source, ...parts };
      return { domain, observedAt, duration: performance.now() - began, dns, http, observation };
    },
  };
}

/** In place of `stopped` where the time for the whole check was over. */
const TIMEOUT: Failure = { code: 'timeout', message: 'no answer in the time for one check' };

/** Waiting for a place at a resolver or an address counts towards no timeout but that of the check. */
function withTimeout<Answer extends DnsAnswer | HttpAnswer>(answer: Answer, signal: AbortSignal): Answer {
  const isTimeout =
    answer.kind === 'failed' && answer.failure.code === 'stopped' && signal.reason === CHECK_TIMEOUT;
  return isTimeout ? { ...answer, failure: TIMEOUT } : answer;
}

function limitRecords(type: string, answer: DnsAnswer, limits: ObservationLimits): DnsAnswer {
  if (answer.kind === 'failed') return answer;
  const message = excessOfRecords(type, answer.records.length, limits);
  return message === null ? answer : failed('too-many', message);
}

function limitHeaders(answer: HttpAnswer, limits: ObservationLimits): HttpAnswer {
  if (answer.kind === 'failed') return answer;
  const message = excessOfHeaders(answer.headers, limits);
  if (message === null) return answer;
  return { ...failed('too-large', message), httpsDeclined: answer.scheme === 'http' };
}

const UNRESOLVED = failed('no-address', 'its addresses could not be resolved');

/**
 * A site is observed at the addresses that DNS has just answered, so that records and headers are of the
 * same moment, and no name is resolved twice.
 *
 * @returns null: they are not known.
 */
function siteAddresses(dns: ReadonlyMap<string, DnsAnswer>): readonly string[] | null {
  const [ipv4, ipv6] = [dns.get('A'), dns.get('AAAA')];
  const found = addressesOf([...recordsOf(ipv4), ...recordsOf(ipv6)]);
  // A site with IPv4 addresses is observed at these: without them it would be observed at others than the time before.
  const isKnown = ipv4?.kind === 'answered' && (ipv4.records.length > 0 || ipv6?.kind === 'answered');
  return isKnown ? found : null;
}

/** HTTP is tried only where HTTPS was declined. */
function siteObservation(http: HttpAnswer, ignoredHeaders: ReadonlySet<string>): Partial<Observation> {
  if (http.kind === 'failed') return http.httpsDeclined === true ? { httpsDeclined: true } : {};
  const { scheme, status, address, headers: httpHeaders } = http;
  const response = { scheme, status, address };
  return { httpHeaders, ignoredHeaders, response, httpsDeclined: scheme === 'http' };
}

interface JoinedAnswers {
  /** Those for CNAME and DNAME include every alias that led to the records of the other types. */
  readonly dns: ReadonlyMap<string, DnsAnswer>;
  /** See DnsObservation. */
  readonly observedOwners: ReadonlyMap<string, ReadonlySet<string>>;
}

type Answered = Extract<DnsAnswer, { kind: 'answered' }>;

/** The answers for other types than CNAME and DNAME show the aliases on their way. */
function joinAnswers(domain: string, answers: ReadonlyMap<string, DnsAnswer>): JoinedAnswers {
  const own = ['CNAME', 'DNAME'].flatMap((type) => recordsOf(answers.get(type)));
  const found = recordsByType([...own, ...[...answers.values()].flatMap(({ aliases = [] }) => aliases)]);
  const complete = completeChains(answers);
  const [dns, observedOwners] = [new Map(answers), new Map<string, ReadonlySet<string>>()];
  for (const type of ['CNAME', 'DNAME']) {
    const records = found.get(type);
    if (records === undefined) continue;
    dns.set(type, { kind: 'answered', nameExists: true, records, aliases: [] });
    if (complete.length === 0) observedOwners.set(type, new Set(records.map(({ host }) => host)));
  }
  // The names below a DNAME show it, whether it was queried or not; of those at and below the domain nothing is known.
  if (!answers.has('DNAME') && complete.length > 0) {
    const names = [domain, ...complete.flatMap(({ aliases }) => aliases.map(targetOf))];
    observedOwners.set('DNAME', new Set(names.flatMap(ancestorsOf)));
  }
  return { dns, observedOwners };
}

/**
 * The answers that show a chain of aliases to its end, or that there is none: those with aliases or records. The
 * answer for CNAME alone does not show where the CNAME leads, and one without that CNAME does not count.
 */
function completeChains(answers: ReadonlyMap<string, DnsAnswer>): Answered[] {
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

function targetOf({ rdata }: DnsRecord): string {
  const { target, data } = parseRdata(rdata);
  return String(target ?? data);
}

/** What there is to record of the answers. Types without an answer keep their records. */
function dnsObservation({ dns, observedOwners }: JoinedAnswers): Pick<Observation, 'dns'> {
  const answered = [...dns].filter(([, { kind }]) => kind === 'answered');
  if (answered.length === 0) return {};
  const types = new Set(answered.map(([type]) => type));
  // Not those of a type whose answer has too many records.
  const owners = new Map([...observedOwners].filter(([type]) => types.has(type) || !dns.has(type)));
  const records = recordsByType(answered.flatMap(([, answer]) => recordsOf(answer)));
  return { dns: owners.size === 0 ? { types, records } : { types, observedOwners: owners, records } };
}
