import { LRUCache } from 'lru-cache';

/** So many visits in a row that end without an answer in time make an endpoint a silent one. */
const SILENT_AFTER = 8;
/** How long a silent endpoint is left alone, in milliseconds. */
const LEFT_ALONE = 30_000;
/** Endpoints that are kept in mind. What is forgotten costs a few visits more. */
const MOST_KEPT = 10_000;

interface Silence {
  /** Visits in a row that had no answer in time. */
  visits: number;
  /** Until when it is left alone. */
  until: number;
}

/**
 * The endpoints that do not answer. Thousands of domains may stand at one address: if each of them waited
 * for its turn there and then for the time limit, the others would wait with them. All times are
 * milliseconds of a monotonic clock.
 */
export class SilentEndpoints {
  readonly #silences = new LRUCache<string, Silence>({ max: MOST_KEPT });

  /**
   * Whether a visit would only wait. When the time of a silent endpoint is over, one visit is let through:
   * if it is answered, the others follow.
   */
  isSilent(endpoint: string, now: number): boolean {
    const silence = this.#silences.get(endpoint);
    if (silence === undefined || silence.visits < SILENT_AFTER) return false;
    if (now < silence.until) return true;
    silence.until = now + LEFT_ALONE;
    return false;
  }

  /** Keeps in mind that a visit had no answer in time. */
  noteSilence(endpoint: string, now: number): void {
    const silence = this.#silences.get(endpoint) ?? { visits: 0, until: 0 };
    silence.visits += 1;
    silence.until = now + LEFT_ALONE;
    this.#silences.set(endpoint, silence);
  }

  /** Keeps in mind that a visit was answered, whatever the answer was. */
  noteAnswer(endpoint: string): void {
    const silence = this.#silences.get(endpoint);
    if (silence !== undefined) silence.visits = 0;
  }
}
