import { isIPv6 } from 'node:net';

/**
 * Why a DNS type or HTTP was not observed. None of them says anything about the domain: its parts keep
 * their state.
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
