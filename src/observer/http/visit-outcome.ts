import { InvalidObservationError } from '../../model/errors.js';
import type { Failure, FailureCode } from '../failure.js';
import { PrivateAddressError } from './guarded-lookup.js';
import { speaksNoTls } from './handshake.js';
import { ResponseRefusedError } from './read-head.js';
import { endpointText, type Target } from './target.js';

/** What one connection to one address has come to. */
export type VisitOutcome =
  | { readonly kind: 'answered'; readonly status: number; readonly headers: ReadonlyMap<string, string> }
  /**
   * The port refuses; this machine has no way to such addresses (no IPv6, say); or the address cannot be
   * reached now, or not in time, and may yet answer the next time. Another address is to be tried.
   */
  | { readonly kind: 'refused' | 'no-way' | 'slow'; readonly failure: Failure }
  /** The port is open and speaks no TLS. */
  | { readonly kind: 'no-tls'; readonly failure: Failure }
  /** The connection was closed or reset before the response's head ended. Another address is to be tried. */
  | { readonly kind: 'closed'; readonly failure: Failure }
  /** Nothing else is to be tried. */
  | { readonly kind: 'failed'; readonly failure: Failure };

/** How far a connection has come. */
export type Step = 'connect' | 'handshake' | 'head';

/** We end the visit ourselves, with an outcome that is known. */
export class CutOffError extends Error {
  override readonly name = 'CutOffError';
  readonly outcome: VisitOutcome;

  constructor(outcome: VisitOutcome) {
    super('the visit was cut off');
    this.outcome = outcome;
  }
}

/** An outcome after which nothing else is to be tried. */
export function failed(code: FailureCode, message: string): VisitOutcome & { readonly kind: 'failed' } {
  return { kind: 'failed', failure: { code, message } };
}

function closed(message: string): VisitOutcome {
  return { kind: 'closed', failure: { code: 'closed', message } };
}

/** What an error means that ended a visit in the given step. */
export function outcomeOfError(error: unknown, step: Step, target: Target): VisitOutcome {
  if (error instanceof CutOffError) return error.outcome;
  if (error instanceof PrivateAddressError) return failed('private-address', error.message);
  const { code, reason } = detailsOf(error);
  const endpoint = endpointText(target);
  if (step === 'connect') return connectOutcome(code, endpoint);
  if (step === 'handshake') return handshakeOutcome(code, reason, endpoint);
  return headOutcome(error, code, reason, endpoint);
}

/** The code of Node.js, and the words of OpenSSL. */
function detailsOf(error: unknown): { readonly code: string; readonly reason: string } {
  if (!(error instanceof Error)) return { code: '', reason: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const reason = 'reason' in error && typeof error.reason === 'string' ? error.reason : error.message;
  return { code, reason };
}

function connectOutcome(code: string, endpoint: string): VisitOutcome {
  switch (code) {
    case 'ECONNREFUSED':
      return { kind: 'refused', failure: { code: 'refused', message: `${endpoint} refuses the connection` } };
    case 'ETIMEDOUT':
      return { kind: 'slow', failure: { code: 'timeout', message: `${endpoint} does not answer` } };
    case 'ECONNRESET':
    case 'ECONNABORTED':
    case 'ERR_CONNECTION_CLOSED':
      return closed(`${endpoint} closed the connection at once`);
    default: {
      const failure = { code: 'unreachable', message: `no connection to ${endpoint} (${code})` } as const;
      return { kind: NO_WAY.has(code) ? 'no-way' : 'slow', failure };
    }
  }
}

/** What a machine without such a network says. */
const NO_WAY = new Set(['ENETUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT']);

function handshakeOutcome(code: string, reason: string, endpoint: string): VisitOutcome {
  if (speaksNoTls(code)) {
    return { kind: 'no-tls', failure: { code: 'tls', message: `${endpoint} does not speak TLS` } };
  }
  if (isTlsError(code)) return failed('tls', `no TLS with ${endpoint}: ${reason}`);
  return closed(`${endpoint} closed the connection during the TLS handshake`);
}

function isTlsError(code: string): boolean {
  return code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_') || code === 'EPROTO';
}

function headOutcome(error: unknown, code: string, reason: string, endpoint: string): VisitOutcome {
  if (error instanceof ResponseRefusedError) return refusedResponse(error.code, error.message, endpoint);
  if (error instanceof InvalidObservationError) return refusedResponse('malformed', error.message, endpoint);
  if (isTlsError(code)) return failed('tls', `no TLS with ${endpoint}: ${reason}`);
  return closed(`${endpoint} closed the connection before the end of the response's head`);
}

function refusedResponse(code: 'malformed' | 'too-large', reason: string, endpoint: string): VisitOutcome {
  return failed(code, `response from ${endpoint} refused: ${reason}`);
}
