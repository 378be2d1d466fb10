import type { DnsRecord } from '../../model/dns-record.js';
import { parseRdata } from '../../model/rdata-values.js';
import type { Failed } from '../failure.js';

/** The verdict about one type. */
export type DnsAnswer =
  | {
      readonly kind: 'answered';
      /** False for NXDOMAIN: the queried name, or the one that its CNAMEs lead to, does not exist (RFC 6604). */
      readonly nameExists: boolean;
      /** The records of the queried type, in the order of compareDnsRecords. */
      readonly records: readonly DnsRecord[];
      /** The CNAME and DNAME records that lead from the queried name to the owner of the records. */
      readonly aliases: readonly DnsRecord[];
    }
  | FailedAnswer;

export interface FailedAnswer extends Failed {
  /** Those of a chain whose end the server does not know; absent: none. */
  readonly aliases?: readonly DnsRecord[];
  /** Of a recursive server, without proof (RFC 2308): it counts if another server denies the same. */
  readonly denial?: Denial;
}

export interface Denial {
  /** The server's address and port. */
  readonly by: string;
  readonly nameExists: boolean;
}

/** Those of A and AAAA records. */
export function addressesOf(records: readonly DnsRecord[]): string[] {
  return records.map(({ rdata }) => {
    const { ip, ipv6 } = parseRdata(rdata);
    return String(ip ?? ipv6);
  });
}
