import { PGlite } from '@electric-sql/pglite';
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm';

const SYNC_MESSAGE = Buffer.from('S\0\0\0\x04');

/**
 * PGlite for many clients at once.
 *
 * The socket server lets another client's message in after any message outside a transaction, but an extended
 * query is several messages around one unnamed statement: two clients would run each other's. So the time
 * between its first message and its Sync counts as a transaction here.
 */
export class Engine extends PGlite {
  readonly #broken: (error: unknown) => void;
  #withinExtendedQuery = false;

  /**
   * @param folder If it is empty, a database is made in it.
   * @param broken is called when the engine is in an undefined state. PGlite itself would continue, and the
   *   client that caused it would wait forever.
   */
  static async open(folder: string, broken: (error: unknown) => void): Promise<Engine> {
    const engine = new Engine(folder, broken);
    await engine.waitReady;
    watchMainLoop(engine.Module, broken);
    return engine;
  }

  private constructor(folder: string, broken: (error: unknown) => void) {
    super({ dataDir: folder, relaxedDurability: false, onStderr: noteFatal, extensions: { pg_trgm } });
    this.#broken = broken;
  }

  /** Called by the socket server before it takes the next client's message. */
  override isInTransaction(): boolean {
    return this.#withinExtendedQuery || super.isInTransaction();
  }

  override async execProtocolRawStream(
    ...[message, options]: Parameters<PGlite['execProtocolRawStream']>
  ): Promise<void> {
    const kind = String.fromCharCode(message[0] ?? 0);
    // Parse, Bind, Describe, Execute, Close, Flush (PostgreSQL, 54.2.3); or Sync, or a simple query.
    if ('PBDECH'.includes(kind)) this.#withinExtendedQuery = true;
    else if ('SQ'.includes(kind)) this.#withinExtendedQuery = false;
    try {
      await super.execProtocolRawStream(message, options);
    } catch (error) {
      this.#broken(error);
      throw error;
    }
  }

  /** The socket server rolls back by this for a client that is gone, which may not have sent its Sync. */
  override async exec(...[statements, options]: Parameters<PGlite['exec']>) {
    if (this.#withinExtendedQuery) await this.execProtocolRawStream(SYNC_MESSAGE, { onRawData: () => {} });
    return super.exec(statements, options);
  }
}

/** PGlite swallows whatever its main loop throws: an ordinary error, or the end of the engine. */
function watchMainLoop(module: object, broken: (error: unknown) => void): void {
  const mainLoop: unknown = Reflect.get(module, '_PostgresMainLoopOnce');
  if (typeof mainLoop !== 'function') throw new Error('This version of PGlite has another main loop.');
  const watched = () => {
    try {
      Reflect.apply(mainLoop, module, []);
    } catch (error) {
      // PGlite's status of an ordinary error of a statement: PostgreSQL's longjmp.
      if (!(error instanceof Object && Reflect.get(error, 'status') === 100)) broken(error);
      throw error;
    }
  };
  Reflect.set(module, '_PostgresMainLoopOnce', watched);
}

/** Logs only what ends the database: the errors of statements go to their clients. */
function noteFatal(line: string): boolean {
  if (/\b(FATAL|PANIC):/.test(line)) process.stderr.write(`${line}\n`);
  return false;
}
