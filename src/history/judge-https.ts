import type { Instant } from '../model/instant.js';
import type { Observation } from '../model/observation.js';
import type { DomainState, HttpsState } from './state.js';

/** A day, in microseconds. */
export const DEFAULT_HTTPS_GRACE = 86_400_000_000n;
/** How many observations in a row must find HTTPS declined before a response over HTTP counts. */
export const LEAST_DECLINED = 3;

/** A response over HTTP that was not recorded, since HTTPS has been declined for too short a time. */
export interface HeldBack {
  readonly since: Instant;
  /** So many observations found it declined. */
  readonly checks: number;
  /** From this time on, and after three observations, a response over HTTP counts. */
  readonly until: Instant;
}

/** What remains of an observation, and what is known of HTTPS after it. */
export interface Judged {
  readonly observation: Observation;
  readonly https: HttpsState | null;
  readonly heldBack: HeldBack | null;
}

/**
 * Decides whether a response over HTTP counts. One rejected connection is no redesign: where a site has
 * answered over HTTPS, its response over HTTP does not count until HTTPS has been declined by three
 * observations in a row, over some time.
 *
 * An observation that is not newer than the latest of HTTP changes nothing here: it is stale, or repeated. One
 * that is not newer than the latest that found HTTPS declined is not counted again.
 *
 * @param grace for how long HTTPS must have been declined, in microseconds; 0: every response counts.
 */
export function judgeHttps(state: DomainState | null, observation: Observation, grace: bigint): Judged {
  const https = state?.https ?? null;
  const { observedAt, response, httpsDeclined = false } = observation;
  const isNew = state?.http == null || observedAt > state.http.latest;
  if (isNew && response?.scheme === 'https') {
    return { observation, https: answeredAt(https, observedAt), heldBack: null };
  }
  if (!isNew || !httpsDeclined || https === null) return { observation, https, heldBack: null };
  const declined = declinedAt(https.declined, observedAt);
  const after = declined === https.declined ? https : { ...https, declined };
  const until = declined.first + grace;
  const counts = declined.latest === observedAt && declined.count >= LEAST_DECLINED && observedAt >= until;
  if (observation.httpHeaders === undefined || grace === 0n || counts) {
    return { observation, https: after, heldBack: null };
  }
  const heldBack = { since: declined.first, checks: declined.count, until };
  return { observation: withoutHttp(observation), https: after, heldBack };
}

/**
 * Of the observations that found HTTPS declined, and are newer than an answer, none is known but the latest.
 */
function answeredAt(https: HttpsState | null, observedAt: Instant): HttpsState {
  const declined = https?.declined ?? null;
  if (declined === null || observedAt >= declined.latest) return { latest: observedAt, declined: null };
  if (observedAt < declined.first) return { latest: observedAt, declined };
  return { latest: observedAt, declined: { first: declined.latest, latest: declined.latest, count: 1 } };
}

function declinedAt(
  declined: HttpsState['declined'],
  observedAt: Instant,
): NonNullable<HttpsState['declined']> {
  if (declined === null) return { first: observedAt, latest: observedAt, count: 1 };
  if (observedAt <= declined.latest) return declined;
  return { first: declined.first, latest: observedAt, count: declined.count + 1 };
}

function withoutHttp({ httpHeaders: _headers, response: _response, ...rest }: Observation): Observation {
  return rest;
}
