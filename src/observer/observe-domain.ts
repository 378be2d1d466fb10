import type { DnsRecord } from '../model/dns-record.js';
import type { Instant } from '../model/instant.js';
import type { DnsObservation, Observation } from '../model/observation.js';
import { excessOfHeaders, excessOfRecords, type ObservationLimits } from '../model/observation-limits.js';
import { parseRdata } from '../model/rdata-values.js';
import { recordsByType } from '../model/record-set.js';
import type { DnsAnswer, DnsClient } from './dns/client.js';
import type { Failure, FailureCode } from './failure.js';
import type { HttpAnswer, HttpClient } from './http/client.js';

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
  /** Looks at a domain once. It never fails: what could not be observed has its reason. */
  look(domain: string, signal?: AbortSignal): Promise<Look>;
  close(): void;
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

/** Makes an observer of the two clients; closing it closes them. */
export function createDomainObserver(options: DomainObserverOptions): DomainObserver {
  return {
    look: (domain, signal) => look(options, domain, signal),
    close() {
      options.dns.close();
      options.http.close();
    },
  };
}

/** The reason of a signal that ends a look because it took too long: nobody has stopped it. */
export const LOOK_LIMIT = new Error('the look took too long');

/** In the place of `stopped` where the time for the whole look was over. */
const NO_TURN: Failure = { code: 'timeout', message: 'no answer in the time for one look' };

/** Waiting for a turn at a resolver or an address counts against no limit but the look's. */
function withReason<Answer extends DnsAnswer | HttpAnswer>(
  answer: Answer,
  signal: AbortSignal | undefined,
): Answer | { readonly kind: 'failed'; readonly failure: Failure } {
  const cut = answer.kind === 'failed' && answer.failure.code === 'stopped' && signal?.reason === LOOK_LIMIT;
  return cut ? { kind: 'failed', failure: NO_TURN } : answer;
}

function tooMuch(code: FailureCode, message: string): { readonly kind: 'failed'; readonly failure: Failure } {
  return { kind: 'failed', failure: { code, message } };
}

function requireFewRecords(type: string, answer: DnsAnswer, limits: ObservationLimits): DnsAnswer {
  if (answer.kind === 'failed') return answer;
  const excess = excessOfRecords(type, answer.records.length, limits);
  return excess === null ? answer : tooMuch('too-many', excess);
}

function requireModestHeaders(answer: HttpAnswer, limits: ObservationLimits): HttpAnswer {
  if (answer.kind === 'failed') return answer;
  const excess = excessOfHeaders(answer.headers, limits);
  return excess === null ? answer : tooMuch('too-large', excess);
}

async function look(options: DomainObserverOptions, domain: string, signal?: AbortSignal): Promise<Look> {
  const observedAt = options.now();
  const began = performance.now();
  const { limits } = options;
  const answers = await options.dns.ask(domain, options.types, signal);
  const dns = new Map(
    [...answers].map(([type, answer]) => [type, requireFewRecords(type, withReason(answer, signal), limits)]),
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
    observation: observationOf(options, domain, observedAt, dns, http),
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
  signal?: AbortSignal,
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
  dns: ReadonlyMap<string, DnsAnswer>,
  http: HttpAnswer,
): Observation | null {
  const records = dnsObservation(dns);
  const headers = http.kind === 'answered' ? { httpHeaders: http.headers, ignoredHeaders } : {};
  if (records === null && http.kind === 'failed') return null;
  return { domain, observedAt, source, ...(records === null ? {} : { dns: records }), ...headers };
}

/** Only types that were answered say anything: the others keep their records. */
function dnsObservation(dns: ReadonlyMap<string, DnsAnswer>): DnsObservation | null {
  const types = new Set<string>();
  const records: DnsRecord[] = [];
  for (const [type, answer] of dns) {
    if (answer.kind === 'failed') continue;
    types.add(type);
    records.push(...answer.records);
  }
  return types.size === 0 ? null : { types, records: recordsByType(records) };
}
