import type { DnsRecord } from '../../model/dns-record.js';
import type { Failed, Failure, FailureCode } from '../failure.js';

/** The result of a query for one type. */
export type DnsAnswer =
  | {
      readonly kind: 'answered';
      /** False for NXDOMAIN: the queried name, or the one that its CNAMEs lead to, does not exist (RFC 6604). */
      readonly nameExists: boolean;
      /** The records of the queried type in canonical form, each once, in the order of compareDnsRecords. */
      readonly records: readonly DnsRecord[];
      /** The CNAME and DNAME records that lead from the queried name to the owner of the records. */
      readonly aliases: readonly DnsRecord[];
    }
  | FailedAnswer;

/** A query, or one try of it, without an answer. */
export interface FailedAnswer extends Failed {
  /** Those of a chain whose end the server does not know; absent: none. */
  readonly aliases?: readonly DnsRecord[];
}

/** A negative answer without proof from a recursive server (RFC 2308): another server decides. */
export interface BareAnswer {
  readonly kind: 'bare';
  /** Its address and port. */
  readonly server: string;
  readonly nameExists: boolean;
  /** What to report if no other server agrees. */
  readonly failure: Failure;
}

/** A response tells more than no response: any other code has the rank 2. */
const RANKS: Readonly<Partial<Record<FailureCode, number>>> = { timeout: 0, unreachable: 0, mismatched: 1 };

/** Of two tries without an answer the one to report: the later, unless the earlier tells more. */
export function moreTelling(
  earlier: FailedAnswer | undefined,
  later: Pick<FailedAnswer, 'failure' | 'aliases'>,
): FailedAnswer {
  const rank = ({ failure }: Pick<FailedAnswer, 'failure'>) => RANKS[failure.code] ?? 2;
  if (earlier !== undefined && rank(earlier) > rank(later)) return earlier;
  return { ...later, kind: 'failed' };
}
