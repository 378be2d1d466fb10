import { createReadinessCheck, type DatabaseReadiness } from './migrate.js';
import type { ClosablePool } from './pool.js';
import { askServer, createCheckPool, type ServerAnswer, toPrimaryServer } from './server-checks.js';
import { reasonOf, serverPlace } from './server-pool.js';
import type { Lag, WalPositions } from './wal-positions.js';

export interface PrimaryState {
  /** What it told last; null: nothing yet. */
  readonly answer: ServerAnswer | null;
  readonly positions: WalPositions;
}

/** Whether a replica may be read from. */
interface Verdict {
  /** Why it is left out; null: it is good. */
  readonly reason: string | null;
  /** What the driver says, for the log alone. */
  readonly cause?: string;
}

/** The reason of a server that does not respond in time, or with an error. */
export const SILENT = 'It does not respond.';

const GOOD: Verdict = { reason: null };
const UNKNOWN: Verdict = { reason: 'How far it is behind the primary is not known yet.' };

export class Replica {
  readonly url: string;
  /** Where it is, for messages: one phrase, without user and password. */
  readonly place: string;
  /** What it told last; null where it did not respond. */
  answer: ServerAnswer | null = null;
  /** How far it was behind then; null: not known. */
  lag: Lag | null = null;
  /** Why it was left out by the latest verdict; null: it was good. */
  reason: string | null = null;
  readonly #pool: ClosablePool;
  readonly #readiness: ReturnType<typeof createReadinessCheck>;
  #schema: DatabaseReadiness = 'silent';
  #failure = '';

  /** @throws OperationError for an address that pg cannot read. */
  constructor(url: string) {
    this.url = url;
    this.place = serverPlace(url, 'DATABASE_READ_URLS');
    this.#pool = createCheckPool(url);
    this.#readiness = createReadinessCheck(this.#pool.pool);
  }

  /** Asks the server. It never throws. */
  async ask(): Promise<void> {
    try {
      this.answer = await askServer(this.#pool);
      this.#schema = await (await this.#readiness)();
    } catch (error) {
      this.answer = null;
      this.#failure = reasonOf(error);
    }
  }

  /** Whether it may be read from, by what it told and what is known of the primary. */
  judge({ answer: primary, positions }: PrimaryState, mostBehind: number): Verdict {
    const { answer } = this;
    this.lag = null;
    if (answer === null) return { reason: SILENT, cause: this.#failure };
    if (this.#schema === 'silent') return { reason: SILENT };
    if (primary === null) return { reason: 'The primary has not responded yet.' };
    const reason = reasonAgainst(answer, primary);
    if (reason !== null) return { reason };
    if (this.#schema === 'other-schema') {
      return { reason: 'Its schema is not that of this version of the program.' };
    }
    if (!answer.isReplica) return GOOD;
    this.lag = positions.lagOf(answer.position, answer.askedAt);
    const { atLeast, freshAt } = this.lag;
    if (atLeast > mostBehind) {
      return { reason: `It is ${(atLeast / 1000).toFixed(1)} s behind the primary.` };
    }
    return freshAt === null ? UNKNOWN : GOOD;
  }

  close(): Promise<void> {
    return this.#pool.close(0);
  }
}

/**
 * Why a server is no replica of the primary; null: it is one, or the primary itself.
 *
 * Positions in the log do not tell: a server with another past, such as a former primary that was started as a standby without
 * pg_rewind, may have any. What the primary has written since it started tells: who has replayed it has replayed all before it.
 */
function reasonAgainst(answer: ServerAnswer, primary: ServerAnswer): string | null {
  if (answer.system !== primary.system) return 'It is no replica of the database at DATABASE_URL.';
  if (!answer.isReplica) {
    if (answer.startedAt === primary.startedAt) return null;
    return 'It is no replica any more: it takes writes itself.';
  }
  if (answer.timeline > primary.timeline || answer.primaryServer !== toPrimaryServer(primary))
    return OTHER_PAST;
  return null;
}

const OTHER_PAST =
  'It has not replayed what the primary wrote when it started: it is behind, or has another past (pg_rewind makes it a replica again).';
