import type { DnsRecord } from '../../model/dns-record.js';
import type { Failure } from '../failure.js';

/** What asking for one type has given. */
export type DnsAnswer =
  | {
      readonly kind: 'answered';
      /** False for NXDOMAIN: the name asked, or the one that its CNAMEs lead to, does not exist (RFC 6604). */
      readonly nameExists: boolean;
      /** The records of the type asked in canonical form, each once, in the order of compareDnsRecords. */
      readonly records: readonly DnsRecord[];
      /** The CNAME and DNAME records that lead from the name asked to the owner of the records. */
      readonly aliases: readonly DnsRecord[];
    }
  | {
      readonly kind: 'failed';
      readonly failure: Failure;
      /** Those of a chain whose end the server does not know; absent: none. */
      readonly aliases?: readonly DnsRecord[];
    };

/** Where a DNS server listens, over UDP and TCP. */
export interface DnsServer {
  /** An IPv4 or IPv6 address; never a name. */
  readonly address: string;
  readonly port: number;
}
