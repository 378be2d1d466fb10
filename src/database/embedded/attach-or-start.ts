import { type ChildProcess, spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OperationError } from '../../model/errors.js';
import { isJsonObject } from '../../model/json-values.js';
import { type Attachment, attach } from './attachment.js';
import { type IfMissing, prepareRunDirectory, requireRoom, unusable } from './data-folder.js';

/** The compiled program, from src/ as well: Node.js 20 runs no TypeScript. */
const PROGRAM = fileURLToPath(new URL('../../../dist/database/embedded/owner.js', import.meta.url));
/** How long, in milliseconds, a start may take: a first one on a slow machine takes several seconds. */
const LONGEST_START = 60_000;
/** How many owners may end without a report. */
const MOST_DEATHS = 3;

/** Where an embedded database is, and how its owner is started. */
export interface Place {
  /** Absolute path. */
  readonly dataDirectory: string;
  /** The folder of sockets. */
  readonly runDirectory: string;
  /** The same folder, under a path that is short enough to connect to. */
  readonly socketDirectory: string;
  /** How long, in milliseconds, the database stays open without an attached process. */
  readonly graceMilliseconds: number;
  readonly ifMissing: IfMissing;
}

/** What an owner's process reports, once, to the process that started it; neither: another one has the database open. */
export interface OwnerReport {
  /** It has the database open; true: it has made it. */
  readonly created?: boolean;
  /** Why it cannot open the database: one line for the user. */
  readonly failure?: string;
}

/**
 * Attaches to the process that has the embedded database open, and starts one if there is none.
 *
 * @param closing ends the wait.
 * @returns whether the process that was started has made the database.
 * @throws OperationError if it cannot be opened; the reason of `closing`.
 */
export async function attachOrStart(
  place: Place,
  closing: AbortSignal,
): Promise<{ attachment: Attachment; created: boolean }> {
  const late = AbortSignal.timeout(LONGEST_START);
  try {
    return await tryToAttach(place, AbortSignal.any([closing, late]));
  } catch (error) {
    if (error instanceof OperationError || closing.aborted) throw error;
    if (!late.aborted) throw unusable(place.dataDirectory, error);
    throw new OperationError(
      `The embedded database in ${place.dataDirectory} did not start within ${LONGEST_START / 1000} seconds. End the process that has it open, or set DATA_DIR to another folder.`,
    );
  }
}

async function tryToAttach(place: Place, signal: AbortSignal) {
  let created = false;
  for (let deaths = 0; deaths < MOST_DEATHS; ) {
    const attachment = await attach(place.runDirectory, place.socketDirectory, signal);
    if (attachment !== null) return { attachment, created };
    const report = await startOwner(place, signal);
    if (report === null) {
      deaths += 1;
      await requireRoom(place.dataDirectory);
    } else if (report.failure !== undefined) throw new OperationError(report.failure);
    else created ||= report.created === true;
  }
  throw new OperationError(
    `The embedded database did not start; ${logFile(place.runDirectory)} may say why.`,
  );
}

/** Starts an owner (owner.ts), and waits for its report. @returns null if it ended without one; its log may say why. */
async function startOwner(place: Place, signal: AbortSignal): Promise<OwnerReport | null> {
  // Again: the folder may have been deleted since the last start.
  const owner = await launch(place, logFile(await prepareRunDirectory(place.dataDirectory)));
  try {
    return await firstReport(owner, signal);
  } finally {
    owner.unref();
    if (owner.connected) owner.disconnect();
  }
}

/** Where owners write why they ended. */
function logFile(runDirectory: string): string {
  return join(runDirectory, 'owner.log');
}

async function launch(place: Place, logPath: string): Promise<ChildProcess> {
  const { dataDirectory, graceMilliseconds, ifMissing } = place;
  const log = await open(logPath, 'a', 0o600);
  try {
    return spawn(process.execPath, [PROGRAM, dataDirectory, String(graceMilliseconds), ifMissing], {
      // A session of its own: it outlives this process, and Ctrl-C in a terminal does not reach it.
      detached: true,
      cwd: '/',
      stdio: ['ignore', log.fd, log.fd, 'ipc'],
    });
  } finally {
    await log.close();
  }
}

function firstReport(owner: ChildProcess, signal: AbortSignal): Promise<OwnerReport | null> {
  return new Promise((resolve, reject) => {
    owner.on('error', (cause) => {
      const message = `The process of the embedded database cannot be started: ${cause.message}.`;
      reject(new OperationError(message, { cause }));
    });
    owner.once('message', (message) => resolve(toReport(message)));
    owner.once('disconnect', () => resolve(null));
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** The owner may be of another version, if the program was rebuilt while it was running. */
function toReport(message: unknown): OwnerReport {
  const { created, failure } = isJsonObject(message) ? message : {};
  return { created: created === true, ...(typeof failure === 'string' && { failure }) };
}
