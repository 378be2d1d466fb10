import type { Viewer } from '../auth/viewer.js';
import type { Penalties } from '../rates/penalties.js';
import type { HttpAnswer } from './http-answer.js';

/**
 * Answers a request, unless the viewer has sent too many that were refused or asked for nothing that is
 * limited by itself, such as the schema: these cost work, too.
 *
 * @param documents Counts such requests; absent: they are not limited.
 * @param answer Answers the request; what it asks for that is limited shows in the viewer's `rates`.
 * @throws RateLimitedError, and the viewer's `rates` say the state.
 */
export async function limitDocuments(
  documents: Penalties | undefined,
  viewer: Viewer,
  answer: () => Promise<HttpAnswer>,
): Promise<HttpAnswer> {
  if (documents === undefined) return answer();
  const usedUp = documents.usedUp(viewer.rateLimitKey);
  if (usedUp !== undefined) {
    viewer.rates = usedUp;
    throw documents.refusal(usedUp);
  }
  const answered = await answer();
  viewer.rates ??= await documents.add(viewer.rateLimitKey);
  return answered;
}
