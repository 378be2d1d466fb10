import type { ServerResponse } from 'node:http';
import { type RateState, secondsUntilReset } from './rate-policy.js';

/**
 * Tells a client what it has left: `RateLimit-Policy` and `RateLimit` as draft-ietf-httpapi-ratelimit-headers-11,
 * sections 3 and 4, writes them, with the end of the window as `Retry-After` has it (section 6).
 *
 * @param state After this request; absent: nothing that is limited was asked for, and nothing is told.
 */
export function setRateFields(response: ServerResponse, state: RateState | undefined): void {
  if (state === undefined) return;
  const { policy, remaining } = state;
  response.setHeader('ratelimit-policy', policy.field);
  response.setHeader('ratelimit', `"${policy.name}";r=${remaining};t=${secondsUntilReset(state)}`);
}
