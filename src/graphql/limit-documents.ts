import { createHash } from 'node:crypto';
import { BoundedCache } from '../model/bounded-cache.js';
import type { Penalties } from '../rates/penalties.js';
import type { HttpAnswer } from './http-answer.js';
import type { CountedViewer } from './rate-limit.js';

const MOST_REMEMBERED = 10_000;
/** As many answers by one document may be under way at once for a client whose budget is used up. */
const MOST_CREDITS = 20;
/** In octets; what is smaller may be a document that earned credits. */
const LARGE_BODY = 16_384;

/** What one counts for: reading and examining so many characters, and executing so much, takes a millisecond or two. */
const CHARACTERS_OF_DOCUMENT = 16_384;
const COST_OF_DOCUMENT = 1_000;

/** What a document counts for: 1 for any ordinary one. */
export function sizeOfDocument(source = '', estimatedCost = 0): number {
  return Math.max(
    1,
    Math.ceil(source.length / CHARACTERS_OF_DOCUMENT),
    Math.ceil(estimatedCost / COST_OF_DOCUMENT),
  );
}

/**
 * Limits the documents that are refused or ask for nothing that is limited by itself, such as the schema:
 * these cost work, too. One that is granted a single limited field counts there, and not here.
 *
 * Once a client's budget is used up, a document by which it was granted such a field is answered all the same:
 * those who share an address with a sender of bad ones go on. Each such answer spends one of the document's
 * credits, and being granted something earns it back and one more, so that what grants nothing was paid for by
 * what did.
 */
export class DocumentLimit {
  readonly #penalties: Penalties;
  /** By client and document. */
  readonly #credits = new BoundedCache<string, number>(MOST_REMEMBERED);

  constructor(penalties: Penalties) {
    this.#penalties = penalties;
  }

  /**
   * Answers a request, unless the viewer's budget is used up.
   *
   * @param source The document; undefined: there is none, or it is not known.
   * @param answer Answers the request; what it is granted that is limited shows in the viewer's `granted`.
   * @param size What the document counts for where it is granted nothing (sizeOfDocument), once it is answered.
   * @throws RateLimitedError, and the viewer's `rates` say the state.
   */
  async answer(
    viewer: CountedViewer,
    source: string | undefined,
    answer: () => Promise<HttpAnswer>,
    size: () => number,
  ): Promise<HttpAnswer> {
    const key = keyOf(viewer, source);
    const usedUp = this.#penalties.usedUp(viewer.rateLimitKey);
    const spent = usedUp === undefined ? 0 : 1;
    if (usedUp !== undefined) {
      if (this.#creditsOf(key) === 0) {
        viewer.rates = usedUp;
        throw this.#penalties.refusal(usedUp);
      }
      this.#credits.set(key, this.#creditsOf(key) - 1);
    }
    const answered = await answer();
    if (viewer.granted === true) {
      this.#credits.set(key, Math.min(this.#creditsOf(key) + spent + 1, MOST_CREDITS));
      return answered;
    }
    const state = await this.#penalties.add(viewer.rateLimitKey, size());
    viewer.rates ??= state;
    return answered;
  }

  /**
   * Rejects a large request before its body is read where the viewer's budget is used up.
   *
   * @param octets The length of the body; undefined: it is not known.
   * @throws RateLimitedError, and the viewer's `rates` say the state.
   */
  requireLeft(viewer: CountedViewer, octets: number | undefined): void {
    const usedUp = this.#penalties.usedUp(viewer.rateLimitKey);
    if (usedUp === undefined || (octets ?? LARGE_BODY + 1) <= LARGE_BODY) return;
    viewer.rates = usedUp;
    throw this.#penalties.refusal(usedUp);
  }

  /** Whether the viewer's budget is used up. */
  isUsedUp({ rateLimitKey }: CountedViewer): boolean {
    return this.#penalties.usedUp(rateLimitKey) !== undefined;
  }

  #creditsOf(key: string): number {
    return this.#credits.get(key) ?? 0;
  }
}

function keyOf({ rateLimitKey }: CountedViewer, source = ''): string {
  return `${createHash('sha256').update(source).digest('base64')} ${rateLimitKey}`;
}
