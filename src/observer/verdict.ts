import { isIPv6 } from 'node:net';
import type { DnsRecord } from '../model/dns-record.js';
import { parseRdata } from '../model/rdata-types.js';

/**
 * Why a DNS type or HTTP was not observed. None of them says anything about the domain: its parts keep their
 * state.
 */
export type FailureCode =
  | 'timeout' // No response came in time.
  | 'unreachable' // There is no way to the server or, for DNS, its port rejects the connection.
  | 'refused' // RCODE 5 (RFC 1035, section 4.1.1); for HTTP, the port rejects the connection.
  | 'malformed' // It breaks RFC 1035 or its type's format, contradicts itself, or is no HTTP (RFC 9112).
  | 'stopped' // The program was stopped.
  // DNS:
  | 'servfail' // RCODE 2.
  | 'rcode' // Any other RCODE but 5, NOERROR and NXDOMAIN.
  | 'mismatched' // Only messages came that answer something else: another id, another question.
  | 'truncated' // The response does not fit into a message over TCP.
  | 'referral' // A server that does not resolve refers to others (RFC 2308, section 2.2).
  | 'lame' // The server is neither authoritative for the name nor recursive: it does not know.
  | 'incomplete' // The answer ends with a CNAME or DNAME, and says nothing of its target.
  | 'unproven' // The records are denied without the SOA record that proves it (RFC 2308, section 2).
  | 'invented' // The resolver has the addresses for names that do not exist, too (dns/resolver-checks.ts).
  | 'too-many' // More records than an observation may hold.
  // HTTP:
  | 'no-address' // The domain has no address, or its addresses are not known.
  | 'private-address' // The domain has no address that is public (see public-address.ts).
  | 'closed' // The connection ended before the response's head did.
  | 'tls' // The server speaks TLS, but no version, cipher or name that we could agree on.
  | 'too-large'; // The head or a value is too large, or there are too many fields or interim responses.

/** The message is one phrase, such as `SERVFAIL from 192.0.2.53:53`. */
export interface Failure {
  readonly code: FailureCode;
  readonly message: string;
}

export interface Failed {
  readonly kind: 'failed';
  readonly failure: Failure;
}

export function failed(code: FailureCode, message: string): Failed {
  return { kind: 'failed', failure: { code, message } };
}

export const STOPPED = failed('stopped', 'stopped before the response came');

/** An address and a port as in a URL: `192.0.2.53:53` or `[2001:db8::53]:53`. */
export function endpointText({ address, port }: { readonly address: string; readonly port: number }): string {
  return isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`;
}

export type DnsAnswer =
  | {
      readonly kind: 'answered';
      /** False: NXDOMAIN of the queried name, or of the one that its CNAMEs lead to (RFC 6604). */
      readonly nameExists: boolean;
      /** The records of the queried type, in the order of compareDnsRecords. */
      readonly records: readonly DnsRecord[];
      /** The CNAME and DNAME records that lead from the queried name to the owner of the records. */
      readonly aliases: readonly DnsRecord[];
    }
  | FailedAnswer;

/** By type. */
export type DnsAnswers = ReadonlyMap<string, DnsAnswer>;

export interface FailedAnswer extends Failed {
  /** Those of a chain whose end the server does not know; absent: none. */
  readonly aliases?: readonly DnsRecord[];
  /** Of a recursive server, without proof (RFC 2308): it counts if another server denies the same. */
  readonly denial?: { readonly server: string; readonly nameExists: boolean };
}

/** @param records Of the types A and AAAA. */
export function addressesOf(records: readonly DnsRecord[]): string[] {
  return records.map(({ rdata }) => {
    const { ip, ipv6 } = parseRdata(rdata);
    return String(ip ?? ipv6);
  });
}

export type HttpAnswer =
  | {
      readonly kind: 'answered';
      readonly scheme: 'https' | 'http';
      /** Where the connection went. */
      readonly address: string;
      readonly status: number;
      /** As responseFields() gives them. */
      readonly headers: ReadonlyMap<string, string>;
    }
  | FailedRequest;

export interface FailedRequest extends Failed {
  /** Absent: nothing else is to be tried. */
  readonly obstacle?: Obstacle | undefined;
  /** Before it, over HTTP. */
  readonly httpsDeclined?: boolean;
}

/** Why another address is to be tried, or another protocol. */
export type Obstacle =
  | 'refused' // The port rejects the connection.
  | 'no-route' // This machine has no route to such addresses (no IPv6, say).
  | 'slow' // The address cannot be reached now, or not in time, and may yet answer the next time.
  | 'no-tls' // The port is open and speaks no TLS, or declines it for this name.
  | 'closed' // The connection was closed or reset before the response's head ended.
  | 'other-protocol'; // The server does not speak HTTP/1.1.
