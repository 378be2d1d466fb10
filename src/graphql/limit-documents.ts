import { createHash } from 'node:crypto';
import { BoundedCache } from '../model/bounded-cache.js';
import type { Penalties } from '../rates/penalties.js';
import type { HttpAnswer } from './http-answer.js';
import type { CountedViewer } from './rate-limit.js';

const MOST_REMEMBERED = 10_000;

/**
 * Limits the documents that are refused or ask for nothing that is limited by itself, such as the schema:
 * these cost work, too. One that is granted a single limited field counts there, and not here.
 *
 * Once a client's budget is used up, a document by which it was granted such a field when it sent it last is
 * answered all the same: those who share an address with a sender of bad ones go on. Each such answer that
 * grants nothing was paid for by one that did, so that no work is to be had for nothing.
 */
export class DocumentLimit {
  readonly #penalties: Penalties;
  /** By client and document. */
  readonly #granted = new BoundedCache<string, true>(MOST_REMEMBERED);

  constructor(penalties: Penalties) {
    this.#penalties = penalties;
  }

  /**
   * Answers a request, unless the viewer's budget is used up.
   *
   * @param source The document; undefined: there is none, or it is not known.
   * @param answer Answers the request; what it is granted that is limited shows in the viewer's `granted`.
   * @throws RateLimitedError, and the viewer's `rates` say the state.
   */
  async answer(
    viewer: CountedViewer,
    source: string | undefined,
    answer: () => Promise<HttpAnswer>,
  ): Promise<HttpAnswer> {
    const key = keyOf(viewer, source);
    const usedUp = this.#penalties.usedUp(viewer.rateLimitKey);
    if (usedUp !== undefined && !this.#granted.has(key)) {
      viewer.rates = usedUp;
      throw this.#penalties.refusal(usedUp);
    }
    const answered = await answer();
    if (viewer.granted === true) {
      this.#granted.set(key, true);
      return answered;
    }
    this.#granted.delete(key);
    const state = await this.#penalties.add(viewer.rateLimitKey);
    viewer.rates ??= state;
    return answered;
  }
}

function keyOf({ rateLimitKey }: CountedViewer, source = ''): string {
  return `${createHash('sha256').update(source).digest('base64')} ${rateLimitKey}`;
}
