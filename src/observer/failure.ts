import { isIPv6 } from 'node:net';

/**
 * Why a DNS type or HTTP was not observed. None of them says anything about the domain: its parts keep
 * their state.
 */
export type FailureCode =
  /** No response came in time. */
  | 'timeout'
  /** The server could not be reached: there is no way to it or, for DNS, its port rejects the connection. */
  | 'unreachable'
  /** RCODE 5 (RFC 1035, section 4.1.1); for HTTP, the port rejects the connection. */
  | 'refused'
  /** What came breaks RFC 1035 or its type's format, or contradicts itself; or it is no HTTP response (RFC 9112). */
  | 'malformed'
  /** The program was stopped. */
  | 'stopped'
  /** The program's clock is wrong (see look-clock.ts). */
  | 'clock'
  /** DNS: RCODE 2, and any other but 5, NOERROR and NXDOMAIN. */
  | 'servfail'
  | 'rcode'
  /** DNS: only messages came that answer something else: another id, another question. */
  | 'mismatched'
  /** DNS: the response does not fit into a message over TCP. */
  | 'truncated'
  /** DNS: a server that does not resolve refers to others (RFC 2308, section 2.2). */
  | 'referral'
  /** DNS: the server is neither authoritative for the name nor recursive: it does not know. */
  | 'lame'
  /** DNS: the answer ends with a CNAME or DNAME, and says nothing of its target. */
  | 'incomplete'
  /** DNS: the records are denied without the SOA record that proves it (RFC 2308, section 2). */
  | 'unproven'
  /** DNS: addresses that the resolver gives for names that do not exist, too (see dns/resolver-checks.ts). */
  | 'invented'
  /** DNS: more records than an observation may hold. */
  | 'too-many'
  /** HTTP: the domain has no address, or its addresses are not known. */
  | 'no-address'
  /** HTTP: the domain has no address that is public (see public-address.ts). */
  | 'private-address'
  /** HTTP: the connection ended before the response's head did. */
  | 'closed'
  /** HTTP: the server speaks TLS, but no version, cipher or name that we could agree on. */
  | 'tls'
  /** HTTP: the head or a value is too large, or there are too many fields or interim responses. */
  | 'too-large';

/** A failure with one phrase for messages, such as `SERVFAIL from 192.0.2.53:53`. */
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

/** The result of an aborted observation. */
export const STOPPED = failed('stopped', 'stopped before the response came');

/** An address and a port as in a URL: `192.0.2.53:53` or `[2001:db8::53]:53`. */
export function endpointText({ address, port }: { readonly address: string; readonly port: number }): string {
  return isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`;
}
