import { LRUCache } from 'lru-cache';
import type { Penalties } from '../rates/penalties.js';
import { unitsOfDocument } from '../resolvers/request-budget.js';
import type { KnownDocument } from './documents.js';
import type { CountedViewer } from './rate-limit.js';

const MOST_REMEMBERED = 10_000;
/** How many requests with one document may be in progress at once for a client whose limit is used up. */
const MOST_CREDITS = 20;
/** In octets; a smaller body may be a document that earned credits. */
const LARGE_BODY = 16_384;

/** Reading so many octets, examining so many characters, or executing so much takes some milliseconds, and counts 1. */
const OCTETS_OF_BODY = 16_384;
const CHARACTERS_OF_DOCUMENT = 2_048;
const COST_OF_DOCUMENT = 1_000;

/**
 * Limits requests that are rejected or take nothing that is limited by itself, such as those for the schema: they
 * cost work, too. A request that is granted a single limited field counts there, and not here.
 *
 * A client whose limit is used up may still send a document that was granted such a field, so that clients who share
 * an address with a sender of bad documents can continue. Each such request spends one of the document's credits; one
 * that is granted a field earns it back, and one more.
 */
export class DocumentLimit {
  readonly #penalties: Penalties;
  /** By client and document. */
  readonly #credits = new LRUCache<string, number>({ max: MOST_REMEMBERED });

  constructor(penalties: Penalties) {
    this.#penalties = penalties;
  }

  /**
   * Rejects a large request before its body is read where the viewer's limit is used up.
   *
   * @param octets The length of the body; undefined: it is not known.
   * @throws RateLimitedError, and the viewer's `rates` have the state.
   */
  checkLength(viewer: CountedViewer, octets: number | undefined): void {
    if ((octets ?? LARGE_BODY + 1) > LARGE_BODY) this.#isUsedUp(viewer, () => 0);
  }

  /**
   * Rejects a request whose document has no credits where the viewer's limit is used up.
   *
   * @returns whether the limit is used up.
   * @throws RateLimitedError, and the viewer's `rates` have the state.
   */
  check(viewer: CountedViewer, document: Pick<KnownDocument, 'hash'>): boolean {
    return this.#isUsedUp(viewer, () => this.#credits.get(keyOf(viewer, document)) ?? 0);
  }

  /**
   * Lets a request pass, unless the viewer's limit is used up.
   *
   * @returns the credits that it spends, for leave().
   * @throws RateLimitedError, and the viewer's `rates` have the state.
   */
  enter(viewer: CountedViewer, document: Pick<KnownDocument, 'hash'>): number {
    if (!this.check(viewer, document)) return 0;
    const key = keyOf(viewer, document);
    this.#credits.set(key, (this.#credits.get(key) ?? 0) - 1);
    return 1;
  }

  /**
   * Counts a request that is executed or rejected, unless it was granted something that is limited by itself.
   *
   * @param spent What enter() has given.
   * @param octets Of the body, decompressed.
   * @param estimatedCost Undefined: it is not known.
   */
  async leave(
    viewer: CountedViewer,
    document: Pick<KnownDocument, 'hash' | 'source' | 'work'>,
    spent: number,
    octets: number,
    estimatedCost: number | undefined,
  ): Promise<void> {
    if (viewer.granted === true) {
      const key = keyOf(viewer, document);
      const credits = this.#credits.get(key) ?? 0;
      const earned = Math.min(credits + spent + 1, MOST_CREDITS);
      if (earned !== credits) this.#credits.set(key, earned);
    } else {
      const state = await this.#penalties.add(viewer.rateLimitKey, sizeOf(document, octets, estimatedCost));
      viewer.rates ??= state;
    }
  }

  /** Counts a body that was read and rejected. Short ones cost next to nothing. */
  async countBody(viewer: CountedViewer, octets: number): Promise<void> {
    const units = unitsOfBody(octets);
    if (units > 0 && this.#penalties.usedUp(viewer.rateLimitKey) === undefined)
      viewer.rates ??= await this.#penalties.add(viewer.rateLimitKey, units);
  }

  /** Whether the limit is used up, where there are credits. @throws RateLimitedError without credits. */
  #isUsedUp(viewer: CountedViewer, credits: () => number): boolean {
    const usedUp = this.#penalties.usedUp(viewer.rateLimitKey);
    if (usedUp === undefined) return false;
    if (credits() > 0) return true;
    viewer.rates = usedUp;
    throw this.#penalties.rejection(usedUp);
  }
}

function keyOf({ rateLimitKey }: CountedViewer, { hash }: Pick<KnownDocument, 'hash'>): string {
  return `${hash} ${rateLimitKey}`;
}

function unitsOfBody(octets: number): number {
  return Math.floor(octets / OCTETS_OF_BODY);
}

/** What a request counts: 1 for an ordinary one. */
function sizeOf(
  { source, work }: Pick<KnownDocument, 'source' | 'work'>,
  octets: number,
  estimatedCost = 0,
): number {
  return Math.max(
    1,
    unitsOfBody(octets),
    work === undefined ? 0 : unitsOfDocument(work),
    Math.ceil(source.length / CHARACTERS_OF_DOCUMENT),
    Math.ceil(estimatedCost / COST_OF_DOCUMENT),
  );
}
