import { OperationError } from '../../model/errors.js';
import { enter, type Presence } from './presence.js';
import { unusable } from './run-directory.js';
import { logFile, type StartOptions, startOwner } from './start-owner.js';

/** How long, in milliseconds, a start may take: a first one on a slow machine takes several seconds. */
const LONGEST_START = 60_000;
/** How many processes that end without a word are put down to chance. */
const MOST_DEATHS = 3;

/** Where an embedded database is, and how a process for it is started. */
export interface Place extends StartOptions {
  /** The folder of sockets. */
  readonly runDirectory: string;
  /** The same folder, under a path that is short enough to connect to. */
  readonly socketDirectory: string;
}

/**
 * Enters where a process has the embedded database open, and starts one where none has.
 *
 * @param closing ends the wait.
 * @returns whether the process that was started for it has made the database.
 * @throws OperationError where it cannot be opened; the reason of `closing`.
 */
export async function enterOrStart(
  place: Place,
  closing: AbortSignal,
): Promise<{ presence: Presence; created: boolean }> {
  const late = AbortSignal.timeout(LONGEST_START);
  try {
    return await tryUntilEntered(place, AbortSignal.any([closing, late]));
  } catch (error) {
    if (error instanceof OperationError || closing.aborted) throw error;
    throw late.aborted ? stuck(place.dataDirectory) : unusable(place.dataDirectory, error);
  }
}

async function tryUntilEntered(place: Place, signal: AbortSignal) {
  let created = false;
  let deaths = 0;
  while (deaths < MOST_DEATHS) {
    const presence = await enter(place.runDirectory, place.socketDirectory, signal);
    if (presence !== null) return { presence, created };
    const report = await startOwner(place, signal);
    if (report === null) deaths += 1;
    else if (report.state === 'failed') throw new OperationError(report.message);
    else created ||= report.state === 'ready' && report.created;
  }
  throw new OperationError(
    `The embedded database did not start; ${logFile(place.runDirectory)} may say why.`,
  );
}

function stuck(dataDirectory: string): OperationError {
  return new OperationError(
    `The embedded database in ${dataDirectory} did not start within ${LONGEST_START / 1000} seconds. End the process that has it open, or set DATA_DIR to another folder.`,
  );
}
