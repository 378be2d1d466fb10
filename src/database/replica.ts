import type { PrismaClient } from './generated/client.js';
import { createReadinessCheck } from './migrate.js';
import type { ClosablePool } from './pool.js';
import { askServer, createCheckPool, type ServerAnswer, toPrimaryServer } from './server-checks.js';
import { reasonOf, serverPlace } from './server-pool.js';
import type { WalPositions } from './wal-positions.js';

/** The reason of a server that does not respond in time, or with an error. */
export const SILENT = 'It does not respond.';

/** A replica as it is read from, until it is left out: from then on, the primary is read from in its place. */
export interface ReplicaHandle {
  readonly prisma: PrismaClient;
  readonly searchPrisma: PrismaClient;
}

export class Replica {
  readonly url: string;
  /** Where it is, for messages: one phrase, without user and password. */
  readonly place: string;
  /** Null where it is left out. */
  handle: (ReplicaHandle & Readonly<Record<'reading' | 'searching', ClosablePool>>) | null = null;
  /** What it told last; null where it did not respond. */
  answer: ServerAnswer | null = null;
  /** How far it was behind the primary then, in milliseconds; null: not known. */
  lag: number | null = null;
  /** Why it was left out by the latest verdict; null: it was good. */
  reason: string | null = null;
  /** What the driver says of the latest failure, for the log alone. */
  failure: string | undefined;
  readonly #pool: ClosablePool;
  readonly #readiness: ReturnType<typeof createReadinessCheck>;
  #hasOurSchema = false;

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
      const answer = await askServer(this.#pool);
      const readiness = await (await this.#readiness)();
      this.#hasOurSchema = readiness === 'ready';
      this.answer = readiness === 'silent' ? null : answer;
      this.failure = undefined;
    } catch (error) {
      this.answer = null;
      this.failure = reasonOf(error);
    }
  }

  /** Why it may not be read from, by what it told and what is known of the primary; null: it may. */
  judge(primary: ServerAnswer | null, positions: WalPositions, mostBehind: number): string | null {
    const { answer } = this;
    this.lag = null;
    if (answer === null) return SILENT;
    if (primary === null) return 'The primary has not responded yet.';
    const reason = reasonAgainst(answer, primary);
    if (reason !== null) return reason;
    if (!this.#hasOurSchema) return 'Its schema is not that of this version of the program.';
    if (!answer.isReplica) return null;
    const { atLeast, isKnown } = positions.lagOf(answer.position, answer.askedAt);
    if (isKnown) this.lag = atLeast;
    if (atLeast > mostBehind) return `It is ${(atLeast / 1000).toFixed(1)} s behind the primary.`;
    return isKnown ? null : 'How far it is behind the primary is not known yet.';
  }

  close(): Promise<unknown> {
    return Promise.all([this.#pool.close(0), this.leave()]);
  }

  /** From now on it is not read from; what runs there is read on the primary. */
  async leave(): Promise<void> {
    const { handle } = this;
    this.handle = null;
    await Promise.all([handle?.reading.close(0), handle?.searching.close(0)]);
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
