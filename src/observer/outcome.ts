import { type HeldBack, LEAST_DECLINED } from '../history/judge-https.js';
import { formatInstant } from '../model/instant.js';
import type { DnsAnswer } from './dns/answer.js';
import type { Failure } from './failure.js';
import type { HttpAnswer } from './http/client.js';

/** What a look at a domain has come to, in short: what is kept and logged of it. */
export interface LookOutcome {
  /** The DNS types that were answered, and the reasons of those that were not. */
  readonly dns: {
    readonly answered: readonly string[];
    readonly failures: Readonly<Record<string, Failure>>;
    /** False: the answers say that there is no such name (NXDOMAIN). Null: nothing was answered. */
    readonly nameExists: boolean | null;
  };
  readonly http: SiteOutcome | { readonly failure: Failure };
}

/** A site's response. */
export interface SiteOutcome {
  readonly scheme: 'https' | 'http';
  readonly status: number;
  readonly address: string;
  /** Why it was not recorded; absent: it was. Times as in RFC 3339. */
  readonly heldBack?: { readonly since: string; readonly looks: number; readonly until: string };
}

/**
 * The outcome of a look.
 *
 * @param heldBack what recording it has said of its response.
 */
export function outcomeOf(
  dns: ReadonlyMap<string, DnsAnswer>,
  http: HttpAnswer,
  heldBack: HeldBack | null = null,
): LookOutcome {
  const answered: string[] = [];
  const failures: Record<string, Failure> = {};
  for (const [type, answer] of dns) {
    if (answer.kind === 'answered') answered.push(type);
    else failures[type] = answer.failure;
  }
  const names = { answered, failures, nameExists: answered.length === 0 ? null : !saysNoSuchName(dns) };
  if (http.kind === 'failed') return { dns: names, http: { failure: http.failure } };
  const { scheme, status, address } = http;
  const response = { scheme, status, address };
  return { dns: names, http: heldBack === null ? response : { ...response, heldBack: asJson(heldBack) } };
}

function asJson({ since, looks, until }: HeldBack): NonNullable<SiteOutcome['heldBack']> {
  return { since: formatInstant(since), looks, until: formatInstant(until) };
}

/** Whether what was answered says that there is no such name: mostly it is misspelt, or given up. */
export function saysNoSuchName(dns: ReadonlyMap<string, DnsAnswer>): boolean {
  const answers = [...dns.values()].filter((answer) => answer.kind === 'answered');
  return answers.length > 0 && answers.every(({ nameExists }) => !nameExists);
}

/** Whether nothing at all was observed: such a domain is observed again after a longer time. */
export function hasFailed({ dns, http }: LookOutcome): boolean {
  return dns.answered.length === 0 && 'failure' in http;
}

/** Whether no resolver could be reached: that says nothing of the domain. */
export function isOutage({ dns }: LookOutcome): boolean {
  const codes = Object.values(dns.failures).map(({ code }) => code);
  return dns.answered.length === 0 && codes.every((code) => code === 'unreachable');
}

/** The outcome in one line for a person, such as `DNS ok; HTTPS 200 from 192.0.2.7`. */
export function outcomeText({ dns, http }: LookOutcome): string {
  if (dns.nameExists === false) return 'no such name';
  const failures = [...typesByReason(dns.failures)].map(([reason, types]) => `${types.join(' ')}: ${reason}`);
  const names =
    failures.length === 0
      ? 'DNS ok'
      : `DNS ${dns.answered.length === 0 ? 'failed' : 'in part'} (${failures.join(', ')})`;
  return `${names}; ${'failure' in http ? `HTTP: ${http.failure.message}` : responseText(http)}`;
}

/** A site's response in one line for a person and, where it was not recorded, why and until when. */
export function responseText({ scheme, status, address, heldBack }: SiteOutcome): string {
  const response = `${scheme.toUpperCase()} ${status} from ${address}`;
  if (heldBack === undefined) return response;
  const [since, until] = [heldBack.since, heldBack.until].map((time) => time.replace(/\.\d+Z$/, 'Z'));
  const looks = heldBack.looks === 1 ? '1 look' : `${heldBack.looks} looks`;
  return (
    `${response}, not recorded: HTTPS answered before, and is declined since ${since} (${looks}); ` +
    `HTTP counts after ${LEAST_DECLINED} looks, from ${until} on`
  );
}

/** A resolver that fails mostly does so for all types alike. */
function typesByReason(failures: Readonly<Record<string, Failure>>): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const [type, { message }] of Object.entries(failures)) {
    found.set(message, [...(found.get(message) ?? []), type]);
  }
  return found;
}
