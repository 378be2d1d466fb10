import type { DnsAnswer } from './dns/client.js';
import type { Failure } from './failure.js';
import type { HttpAnswer } from './http/client.js';

/** What a look at a domain has come to, in short: what is kept and logged of it. */
export interface LookOutcome {
  /** The DNS types that were answered, and the reasons of those that were not. */
  readonly dns: {
    readonly answered: readonly string[];
    readonly failures: Readonly<Record<string, Failure>>;
    /** False: the answers say that there is no such name (NXDOMAIN). */
    readonly nameExists: boolean;
  };
  readonly http:
    | { readonly scheme: 'https' | 'http'; readonly status: number; readonly address: string }
    | { readonly failure: Failure };
}

/** The outcome of a look. */
export function outcomeOf(dns: ReadonlyMap<string, DnsAnswer>, http: HttpAnswer): LookOutcome {
  const answered: string[] = [];
  const failures: Record<string, Failure> = {};
  for (const [type, answer] of dns) {
    if (answer.kind === 'answered') answered.push(type);
    else failures[type] = answer.failure;
  }
  const names = { answered, failures, nameExists: !saysNoSuchName(dns) };
  if (http.kind === 'failed') return { dns: names, http: { failure: http.failure } };
  const { scheme, status, address } = http;
  return { dns: names, http: { scheme, status, address } };
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

/** The outcome in one line for a person, such as `DNS ok; HTTPS 200`. */
export function outcomeText({ dns, http }: LookOutcome): string {
  if (dns.nameExists === false) return 'no such name';
  const failures = [...typesByReason(dns.failures)].map(([reason, types]) => `${types.join(' ')}: ${reason}`);
  const names =
    failures.length === 0
      ? 'DNS ok'
      : `DNS ${dns.answered.length === 0 ? 'failed' : 'in part'} (${failures.join(', ')})`;
  const web =
    'failure' in http ? `HTTP: ${http.failure.message}` : `${http.scheme.toUpperCase()} ${http.status}`;
  return `${names}; ${web}`;
}

/** A resolver that fails mostly does so for all types alike. */
function typesByReason(failures: Readonly<Record<string, Failure>>): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const [type, { message }] of Object.entries(failures)) {
    found.set(message, [...(found.get(message) ?? []), type]);
  }
  return found;
}
