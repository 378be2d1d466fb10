import { type HeldBack, MIN_DECLINED } from '../history/judge-https.js';
import { addTo } from '../model/groups.js';
import { formatInstant } from '../model/instant.js';
import type { DnsAnswers, Failure, HttpAnswer } from './verdict.js';

/** What is stored and logged of a check. */
export interface CheckOutcome {
  /** The DNS types that were answered, and the failures of the others. */
  readonly dns: {
    readonly answered: readonly string[];
    readonly failures: Readonly<Record<string, Failure>>;
    /** False: NXDOMAIN, mostly of a name misspelt or no longer registered. Null: nothing was answered. */
    readonly nameExists: boolean | null;
  };
  readonly http: SiteOutcome | { readonly failure: Failure };
}

interface SiteOutcome extends Omit<Extract<HttpAnswer, { kind: 'answered' }>, 'kind' | 'headers'> {
  /** Why it was not recorded; absent: it was. Times as in RFC 3339. */
  readonly heldBack?: { readonly since: string; readonly checks: number; readonly until: string };
}

/** @param heldBack why the response was not recorded; null: it was. */
export function outcomeOf(dns: DnsAnswers, http: HttpAnswer, heldBack: HeldBack | null = null): CheckOutcome {
  const answered: string[] = [];
  const failures: Record<string, Failure> = {};
  let nameExists: boolean | null = null;
  for (const [type, answer] of dns) {
    if (answer.kind === 'failed') failures[type] = answer.failure;
    else {
      answered.push(type);
      nameExists = nameExists === true || answer.nameExists;
    }
  }
  const names = { answered, failures, nameExists };
  if (http.kind === 'failed') return { dns: names, http: { failure: http.failure } };
  const { scheme, status, address } = http;
  const response = { scheme, status, address };
  if (heldBack === null) return { dns: names, http: response };
  const [since, until] = [formatInstant(heldBack.since), formatInstant(heldBack.until)];
  return { dns: names, http: { ...response, heldBack: { since, checks: heldBack.checks, until } } };
}

/** Nothing was observed: the domain is observed again after a longer time. */
export function hasFailed({ dns, http }: CheckOutcome): boolean {
  return dns.answered.length === 0 && 'failure' in http;
}

/** No resolver could be reached, which says nothing of the domain. */
export function isOutage({ dns }: CheckOutcome): boolean {
  const codes = Object.values(dns.failures).map(({ code }) => code);
  return dns.answered.length === 0 && codes.every((code) => code === 'unreachable');
}

/** In one line of text, such as `DNS ok; HTTPS 200 from 192.0.2.7`. */
export function outcomeText({ dns, http }: CheckOutcome): string {
  if (dns.nameExists === false) return 'no such name';
  // A resolver that fails mostly does so for all types.
  const byReason = new Map<string, string[]>();
  for (const [type, { message }] of Object.entries(dns.failures)) addTo(byReason, message, type);
  const failures = [...byReason].map(([reason, types]) => `${types.join(' ')}: ${reason}`);
  const names =
    failures.length === 0
      ? 'DNS ok'
      : `DNS ${dns.answered.length === 0 ? 'failed' : 'in part'} (${failures.join(', ')})`;
  return `${names}; ${'failure' in http ? `HTTP: ${http.failure.message}` : responseText(http)}`;
}

/** In one line of text; of a response that was not recorded, why and until when. */
export function responseText({ scheme, status, address, heldBack }: SiteOutcome): string {
  const response = `${scheme.toUpperCase()} ${status} from ${address}`;
  if (heldBack === undefined) return response;
  const [since, until] = [heldBack.since, heldBack.until].map((time) => time.replace(/\.\d+Z$/, 'Z'));
  const checks = heldBack.checks === 1 ? '1 check' : `${heldBack.checks} checks`;
  return (
    `${response}, not recorded: HTTPS answered before, and has been declined since ${since} (${checks}); ` +
    `HTTP counts after ${MIN_DECLINED} checks, from ${until}`
  );
}
