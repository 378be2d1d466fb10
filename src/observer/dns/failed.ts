import { isIPv6 } from 'node:net';
import type { DnsFailureCode, Failure } from '../failure.js';
import type { DnsAnswer, DnsServer } from './answer.js';

/** A question, or one try of it, that has given no answer. */
export type Failed = Extract<DnsAnswer, { kind: 'failed' }>;

/** A failure of a question: its code and one phrase for a person. */
export function failed(code: DnsFailureCode | 'stopped', message: string): Failed {
  return { kind: 'failed', failure: { code, message } };
}

/** The program was stopped before the answer came. */
export const STOPPED = failed('stopped', 'stopped before the answer came');

/** `192.0.2.53:53` or `[2001:db8::53]:53`. */
export function serverText({ address, port }: DnsServer): string {
  return isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`;
}

/** The code of a system error, such as `ECONNREFUSED`, or what else the error says. */
export function errorText(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}

/** What a server says tells more than that it says nothing. */
const TELLING: Readonly<Partial<Record<string, number>>> = { timeout: 0, unreachable: 0, mismatched: 1 };

/** Of two tries that gave no answer the one to report: the later, unless the earlier tells more. */
export function moreTelling(earlier: Failed | undefined, later: Pick<Failed, 'failure' | 'aliases'>): Failed {
  if (earlier !== undefined && rank(earlier.failure) > rank(later.failure)) return earlier;
  return { ...later, kind: 'failed' };
}

function rank({ code }: Failure): number {
  return TELLING[code] ?? 2;
}
