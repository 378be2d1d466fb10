import type { Penalties } from '../rates/penalties.js';
import type { HttpAnswer } from './http-answer.js';
import type { CountedViewer } from './rate-limit.js';

/**
 * Answers a request, unless the viewer has sent too many that were refused or asked for nothing that is
 * limited by itself, such as the schema: these cost work, too. One that is granted a single limited field
 * counts there, and not here.
 *
 * @param documents Counts such requests; absent: they are not limited.
 * @param answer Answers the request; what it is granted that is limited shows in the viewer's `granted`.
 * @throws RateLimitedError, and the viewer's `rates` say the state.
 */
export async function limitDocuments(
  documents: Penalties | undefined,
  viewer: CountedViewer,
  answer: () => Promise<HttpAnswer>,
): Promise<HttpAnswer> {
  if (documents === undefined) return answer();
  const usedUp = documents.usedUp(viewer.rateLimitKey);
  if (usedUp !== undefined) {
    viewer.rates = usedUp;
    throw documents.refusal(usedUp);
  }
  const answered = await answer();
  if (viewer.granted !== true) {
    const state = await documents.add(viewer.rateLimitKey);
    viewer.rates ??= state;
  }
  return answered;
}
