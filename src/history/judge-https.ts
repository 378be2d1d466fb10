import type { Instant } from '../model/instant.js';
import type { Observation } from '../model/observation.js';
import { isStale, type Recorded } from './acting-parts.js';
import type { DomainState, HttpsState } from './state.js';

/** A day, in microseconds. */
const DEFAULT_GRACE = 86_400_000_000n;
/** How many observations in a row must find HTTPS declined before a response over HTTP counts. */
export const MIN_DECLINED = 3;

/** A response over HTTP that was not recorded, since HTTPS has been declined for too short a time. */
export interface HeldBack {
  readonly since: Instant;
  /** So many observations found it declined. */
  readonly checks: number;
  /** From this time on, and after three observations, a response over HTTP counts. */
  readonly until: Instant;
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
 * @returns what is known of HTTPS after it; heldBack is null where the response counts, or there is none.
 */
export function judgeHttps(
  state: DomainState | null,
  observation: Observation,
  recorded: Recorded,
  grace = DEFAULT_GRACE,
): { readonly https: HttpsState | null; readonly heldBack: HeldBack | null } {
  const https = state?.https ?? null;
  const { observedAt, response, httpsDeclined = false, httpHeaders } = observation;
  if (response?.scheme !== 'https' && (!httpsDeclined || https === null)) return { https, heldBack: null };
  const isNew = state?.http == null || observedAt > state.http.latest;
  if (!isNew || isStale(observation, recorded.state?.http ?? null, recorded))
    return { https, heldBack: null };
  if (response?.scheme === 'https' || https === null) {
    return { https: answeredAt(https, observedAt), heldBack: null };
  }
  const declined = declinedAt(https.declined, observedAt);
  const after = declined === https.declined ? https : { ...https, declined };
  const { first: since, latest, count: checks } = declined;
  const until = since + grace;
  const counts = latest === observedAt && checks >= MIN_DECLINED && observedAt >= until;
  const isHeldBack = httpHeaders !== undefined && grace !== 0n && !counts;
  return { https: after, heldBack: isHeldBack ? { since, checks, until } : null };
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
