import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { type Claim, claimOwnership, sameFile } from './claim.js';
import { type Making, readyDataFolder } from './data-folder.js';
import { Engine } from './engine.js';
import { readyLine } from './presence.js';
import type { OwnerReport } from './report.js';
import { prepareRunDirectory, unusable } from './run-directory.js';
import { shortSocketDirectory } from './short-path.js';
import { Users } from './users.js';

/** More than the pools of ten processes have connections. */
const MOST_CONNECTIONS = 100;
/** Name of the socket, by PostgreSQL's convention for port 5432. */
const WIRE_SOCKET = '.s.PGSQL.5432';
/** How often, in milliseconds, the owner looks whether its claim and its socket are still there. */
const CHECK_EVERY = 1000;

export interface OwnerOptions {
  /** Absolute path. */
  readonly dataDirectory: string;
  /** How long, in milliseconds, the database stays open without users. */
  readonly graceMilliseconds: number;
  /** What becomes of a data folder without a database. */
  readonly making: Making;
  readonly report: (report: OwnerReport) => Promise<void>;
  /** Ends the process at once, without writing anything more to the data folder. */
  readonly abandon: (reason: unknown) => never;
}

/** The process that opens the data folder, if it is the one that gets the claim. */
export class Owner {
  readonly #options: OwnerOptions;
  readonly #users = new Users();

  constructor(options: OwnerOptions) {
    this.#options = options;
  }

  /**
   * Claims the data folder, serves the database, and settles when its last user has left and it is
   * closed, or at once if another process has the claim. The process must end then: until it does, its
   * claim stands, which keeps the next owner away until the folder is free.
   *
   * @throws OperationError where the data folder cannot be used.
   */
  async run(): Promise<void> {
    const { dataDirectory, report } = this.#options;
    const runDirectory = await prepareRunDirectory(dataDirectory);
    const sockets = await shortSocketDirectory(runDirectory);
    const claim = await this.#claim(runDirectory, sockets.path);
    if (claim === null) await report({ state: 'not needed' });
    else await this.#serve(claim, runDirectory, sockets.path);
    sockets.remove();
  }

  /** Closes the database as soon as it has no user, without the time of grace. */
  hurry(): void {
    this.#users.hurry();
  }

  async #claim(runDirectory: string, socketDirectory: string): Promise<Claim | null> {
    const candidate = `owner-${randomBytes(8).toString('hex')}`;
    try {
      // Listening before claiming leaves no moment in which the claim looks like a dead one's.
      await this.#users.listen(join(socketDirectory, candidate));
      return await claimOwnership(runDirectory, socketDirectory, candidate);
    } catch (error) {
      throw unusable(this.#options.dataDirectory, error);
    }
  }

  async #serve(claim: Claim, runDirectory: string, socketDirectory: string): Promise<void> {
    const { dataDirectory, graceMilliseconds, making, report, abandon } = this.#options;
    setInterval(() => this.#requireClaim(claim), CHECK_EVERY);
    const { folder, created } = await readyDataFolder(dataDirectory, making, (empty) => this.#make(empty));
    const engine = await Engine.open(folder, abandon);
    const server = await this.#listen(engine, join(socketDirectory, WIRE_SOCKET));
    const watch = this.#requireFile(join(runDirectory, WIRE_SOCKET));
    this.#users.announce(readyLine(process.pid));
    await report({ state: 'ready', created });

    await this.#users.allLeft(graceMilliseconds);
    this.#users.fallSilent();
    this.#requireClaim(claim);
    clearInterval(watch);
    await server.stop();
    await engine.close();
  }

  async #make(folder: string): Promise<void> {
    const engine = await Engine.open(folder, this.#options.abandon);
    await engine.close();
  }

  async #listen(engine: Engine, path: string): Promise<PGLiteSocketServer> {
    await rm(path, { force: true });
    const server = new PGLiteSocketServer({ db: engine, path, maxConnections: MOST_CONNECTIONS });
    await server.start();
    return server;
  }

  /** Nobody can connect to a socket whose file is gone: the users start another process, which listens anew. */
  #requireFile(path: string): NodeJS.Timeout {
    const isThere = sameFile(path);
    return setInterval(() => {
      if (!isThere()) this.#options.abandon(`${path} was moved or deleted.`);
    }, CHECK_EVERY);
  }

  /** PGlite opens files by their path: in a folder that was replaced it would write into another's. */
  #requireClaim(claim: Claim): void {
    if (!claim.isHeld()) this.#options.abandon('The data folder was moved or deleted.');
  }
}
