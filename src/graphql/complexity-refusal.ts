import type { HttpAnswer } from './http-answer.js';
import { QueryTooComplexError } from './limits/refuse.js';
import { refusal } from './refusal.js';

/**
 * The refusal of a request that asks for more than one request may.
 *
 * @throws any other error, as it is.
 */
export function refusalOfComplexity(error: unknown, mediaType: string): HttpAnswer {
  if (!(error instanceof QueryTooComplexError)) throw error;
  const { message, cost } = error;
  const extensions = cost === undefined ? undefined : { estimatedCost: cost };
  return refusal(400, 'QUERY_TOO_COMPLEX', message, { mediaType, extensions });
}
