import { isIPv6 } from 'node:net';

/**
 * Why a part of a domain was not observed. None of them says anything about what the domain holds: its
 * parts keep their state.
 */
export type FailureCode =
  | DnsFailureCode
  | HttpFailureCode
  /** The program was stopped, or the time for the whole domain was over. */
  | 'stopped';

/** Why a DNS type was not observed. */
export type DnsFailureCode =
  /** No server answered in time. */
  | 'timeout'
  /** The server could not be reached: the port refuses, or there is no way to it. */
  | 'unreachable'
  /** RCODE 2, and 5, and any other but NOERROR and NXDOMAIN (RFC 1035, section 4.1.1). */
  | 'servfail'
  | 'refused'
  | 'rcode'
  /** The message breaks RFC 1035 or contradicts itself, or its rdata breaks the type's format. */
  | 'malformed'
  /** Only messages came that answer something else: another id, another question. */
  | 'mismatched'
  /** The answer does not fit into a message over TCP. */
  | 'truncated'
  /** A server that does not resolve points to others (RFC 2308, section 2.2). */
  | 'referral'
  /** The server is neither authoritative for the name nor recursive: it does not know. */
  | 'lame'
  /** The answer ends with a CNAME or DNAME whose target it says nothing of. */
  | 'incomplete'
  /** The answer denies the records without the SOA record that proves it (RFC 2308, section 2). */
  | 'unproven'
  /** More records than an observation may hold. */
  | 'too-many';

/** Why HTTP was not observed. */
export type HttpFailureCode =
  /** The domain has no address, or its addresses are not known. */
  | 'no-address'
  /** The domain has no address that is public (see public-address.ts). */
  | 'private-address'
  | 'timeout'
  | 'unreachable'
  | 'refused'
  /** The connection ended before the response's head did. */
  | 'closed'
  /** The server speaks TLS, but no version, cipher or name that we could agree on. */
  | 'tls'
  /** What came is no HTTP response (RFC 9112). */
  | 'malformed'
  /** The head is larger than we take, it has too many fields or interim responses, or a value is too long. */
  | 'too-large';

/** A failure with one phrase for a person, such as `SERVFAIL from 192.0.2.53:53`. */
export interface Failure {
  readonly code: FailureCode;
  readonly message: string;
}

/** The result of what has failed. */
export interface Failed {
  readonly kind: 'failed';
  readonly failure: Failure;
}

/** A failed result. */
export function failed(code: FailureCode, message: string): Failed {
  return { kind: 'failed', failure: { code, message } };
}

/** The result of what was aborted by its signal. */
export const STOPPED = failed('stopped', 'stopped before the response came');

/** The code of a system error, such as `ECONNREFUSED`; empty where it has none. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** An address and a port as in a URL: `192.0.2.53:53` or `[2001:db8::53]:53`. */
export function endpointText({ address, port }: { readonly address: string; readonly port: number }): string {
  return isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`;
}
