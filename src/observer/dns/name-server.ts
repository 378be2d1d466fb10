import type { DnsServer } from './answer.js';
import { serverText } from './failed.js';
import { QuestionGate } from './question-gate.js';

/** How long a server that is silent comes last, in milliseconds. */
const SILENCE_KEPT = 30_000;

/**
 * A server with what is known of it: how many questions it has in hand, and whether it has been silent of
 * late. All times are milliseconds of a monotonic clock.
 */
export class NameServer implements DnsServer {
  readonly address: string;
  readonly port: number;
  /** How messages name it. */
  readonly text: string;
  readonly gate: QuestionGate;
  #latestAnswer = Number.NEGATIVE_INFINITY;
  /** Until when it comes last; undefined while it answers. */
  #lastUntil: number | undefined;

  /** @param questionsAtOnce How many questions it may have in hand. */
  constructor(server: DnsServer, questionsAtOnce: number) {
    this.address = server.address;
    this.port = server.port;
    this.text = serverText(server);
    this.gate = new QuestionGate(questionsAtOnce);
  }

  /** Whether it has been silent and has not answered since. */
  get isSilent(): boolean {
    return this.#lastUntil !== undefined;
  }

  /** Keeps in mind that it has answered, whatever it has said. */
  noteAnswer(now: number): void {
    this.#latestAnswer = now;
    this.#lastUntil = undefined;
  }

  /** Keeps in mind that a question had no answer. One that had answered others meanwhile is not silent. */
  noteSilence(asked: number, now: number): void {
    if (this.#latestAnswer < asked) this.#lastUntil = now + SILENCE_KEPT;
  }

  /**
   * Whether it may have the next question before others. A silent one may have one when its time is over:
   * if it answers, the others follow.
   */
  takesNext(now: number): boolean {
    if (this.#lastUntil === undefined) return true;
    if (now < this.#lastUntil) return false;
    this.#lastUntil = now + SILENCE_KEPT;
    return true;
  }
}

/**
 * The server to ask next: of those that have had this question the fewest times the first that answers,
 * or, if all are silent, the first.
 *
 * @param servers At least one, in the order of preference.
 * @param tries How often each has had the question; missing is never.
 * @param now Milliseconds of a monotonic clock.
 */
export function chooseServer(
  servers: readonly NameServer[],
  tries: ReadonlyMap<NameServer, number>,
  now: number,
): NameServer | undefined {
  const fewest = Math.min(...servers.map((server) => tries.get(server) ?? 0));
  const next = servers.filter((server) => (tries.get(server) ?? 0) === fewest);
  return next.find((server) => server.takesNext(now)) ?? next[0];
}
