import type { Instant } from '../model/instant.js';
import type { Observation } from '../model/observation.js';
import { excessOfHeaders, excessOfRecords, type ObservationLimits } from '../model/observation-limits.js';
import { parseRdata } from '../model/rdata-values.js';
import type { DnsAnswer } from './dns/answer.js';
import type { DnsClient } from './dns/client.js';
import { dnsObservation, type JoinedAnswers, joinAnswers } from './dns-observation.js';
import type { Failure } from './failure.js';
import type { HttpAnswer, HttpClient } from './http/client.js';
import type { Priority } from './priority.js';

/** What one look at a domain has shown. */
export interface Look {
  readonly domain: string;
  readonly observedAt: Instant;
  /** How long it took, in milliseconds. */
  readonly duration: number;
  /** The answer for each type that was asked. */
  readonly dns: ReadonlyMap<string, DnsAnswer>;
  readonly http: HttpAnswer;
  /** What there is to record; null: no part was observed. */
  readonly observation: Observation | null;
}

/** Looks at domains. */
export interface DomainObserver {
  /**
   * Looks at a domain once. It never rejects: what could not be observed has its reason.
   *
   * @param signal Ends it: what is not observed yet has the failure `stopped`, or, where the signal's reason is
   * LOOK_LIMIT, `timeout`.
   */
  look(domain: string, signal?: AbortSignal, priority?: Priority): Promise<Look>;
}

export interface DomainObserverOptions {
  readonly dns: DnsClient;
  readonly http: HttpClient;
  /** The DNS types to ask for, A and AAAA among them: HTTP is observed at their addresses. */
  readonly types: readonly string[];
  /** The header field names that `http` leaves out. */
  readonly ignoredHeaders: ReadonlySet<string>;
  /** What one observation may hold: a part with more has failed, and the others go on. */
  readonly limits: ObservationLimits;
  /** The wall clock. */
  readonly now: () => Instant;
  /** Who observes. */
  readonly source: string;
}

/** Makes an observer of the two clients. */
export function createDomainObserver(options: DomainObserverOptions): DomainObserver {
  return {
    look: (domain, signal = new AbortController().signal, priority) =>
      look(options, domain, signal, priority),
  };
}

/** The reason of a signal that ends a look because it took too long: nobody has stopped it. */
export const LOOK_LIMIT = new Error('the look took too long');

/** In the place of `stopped` where the time for the whole look was over. */
const NO_TURN: Failure = { code: 'timeout', message: 'no answer in the time for one look' };

/** Waiting for a turn at a resolver or an address counts against no limit but the look's. */
function withReason<Answer extends DnsAnswer | HttpAnswer>(answer: Answer, signal: AbortSignal): Answer {
  const cut = answer.kind === 'failed' && answer.failure.code === 'stopped' && signal.reason === LOOK_LIMIT;
  return cut ? { ...answer, failure: NO_TURN } : answer;
}

function requireFewRecords(type: string, answer: DnsAnswer, limits: ObservationLimits): DnsAnswer {
  if (answer.kind === 'failed') return answer;
  const message = excessOfRecords(type, answer.records.length, limits);
  return message === null ? answer : { kind: 'failed', failure: { code: 'too-many', message } };
}

function requireModestHeaders(answer: HttpAnswer, limits: ObservationLimits): HttpAnswer {
  if (answer.kind === 'failed') return answer;
  const message = excessOfHeaders(answer.headers, limits);
  if (message === null) return answer;
  return {
    kind: 'failed',
    failure: { code: 'too-large', message },
    httpsDeclined: answer.scheme === 'http',
  };
}

async function look(
  options: DomainObserverOptions,
  domain: string,
  signal: AbortSignal,
  priority?: Priority,
): Promise<Look> {
  const observedAt = options.now();
  const began = performance.now();
  const { limits } = options;
  const answers = await options.dns.ask(domain, options.types, signal, priority);
  const reasoned = [...answers].map(([type, answer]) => [type, withReason(answer, signal)] as const);
  const joined = joinAnswers(domain, new Map(reasoned));
  const dns = new Map(
    [...joined.dns].map(([type, answer]) => [type, requireFewRecords(type, answer, limits)]),
  );
  const site = withReason(await lookAtSite(options.http, domain, dns, signal), signal);
  const http = requireModestHeaders(site, limits);
  const duration = performance.now() - began;
  return {
    domain,
    observedAt,
    duration,
    dns,
    http,
    observation: observationOf(options, domain, observedAt, { ...joined, dns }, http),
  };
}

/**
 * A domain's site is observed at the addresses that DNS has just answered, so that records and headers
 * tell of the same moment, and no name is resolved twice.
 */
async function lookAtSite(
  http: HttpClient,
  domain: string,
  dns: ReadonlyMap<string, DnsAnswer>,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const addresses = addressesIn(dns);
  if (addresses !== null && addresses.length > 0) return http.observe(domain, addresses, signal);
  const message = addresses === null ? 'its addresses could not be asked for' : 'the domain has no address';
  return { kind: 'failed', failure: { code: 'no-address', message } };
}

/**
 * The addresses that DNS has answered; null where it is not known which there are. A site with IPv4
 * addresses is observed at these: without them it would be judged by others than the time before.
 */
function addressesIn(dns: ReadonlyMap<string, DnsAnswer>): string[] | null {
  const ipv4 = addressesOf(dns.get('A'), 'ip');
  const ipv6 = addressesOf(dns.get('AAAA'), 'ipv6');
  if (ipv4 === null || (ipv6 === null && ipv4.length === 0)) return null;
  return [...ipv4, ...(ipv6 ?? [])];
}

function addressesOf(answer: DnsAnswer | undefined, field: 'ip' | 'ipv6'): string[] | null {
  if (answer?.kind !== 'answered') return null;
  return answer.records.map(({ rdata }) => String(parseRdata(rdata)[field]));
}

function observationOf(
  { ignoredHeaders, source }: DomainObserverOptions,
  domain: string,
  observedAt: Instant,
  answers: JoinedAnswers,
  http: HttpAnswer,
): Observation | null {
  const records = dnsObservation(answers);
  if (records === null && http.kind === 'failed') return null;
  const dnsPart = records === null ? {} : { dns: records };
  return { domain, observedAt, source, ...dnsPart, ...siteObservation(http, ignoredHeaders) };
}

type SiteObservation = Pick<Observation, 'httpHeaders' | 'ignoredHeaders' | 'response' | 'httpsDeclined'>;

/** A response over HTTP is asked for only where HTTPS was declined. */
function siteObservation(http: HttpAnswer, ignoredHeaders: ReadonlySet<string>): SiteObservation {
  if (http.kind === 'failed') return http.httpsDeclined === true ? { httpsDeclined: true } : {};
  const { scheme, status, address, headers: httpHeaders } = http;
  const response = { scheme, status, address };
  return { httpHeaders, ignoredHeaders, response, httpsDeclined: scheme === 'http' };
}
