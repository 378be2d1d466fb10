import { statSync } from 'node:fs';
import { link, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { answers } from './answers.js';
import { codeOf } from './data-folder.js';

/**
 * Who may open the data folder. PGlite's folder has no lock of its own, and two processes that open it
 * lose each other's commits, so a process opens it only while it holds the highest claim.
 *
 * A claim is the file `owner.<N>` in the folder of sockets: a socket that its owner listens on. An owner
 * lives if the socket answers; the kernel answers for a process that is busy, and stops when the process
 * is gone, however it went. A dead owner's claim is never taken away but outnumbered: link() to the next
 * number succeeds for one process only, and for a socket that listens already. The highest claim always
 * stays, so that numbers only grow.
 */
export interface Claim {
  readonly generation: number;
  /** Whether the folder is still the one that was claimed: it may have been moved or deleted. */
  isHeld(): boolean;
}

const CLAIM = /^owner\.(\d+)$/;
const CANDIDATE = /^owner-[0-9a-f]+$/;

/** The file name of a claim. */
export function claimName(generation: number): string {
  return `owner.${generation}`;
}

/** The highest claim ever made in the folder; 0 if there is none. */
export async function highestClaim(runDirectory: string): Promise<number> {
  const names = await readdir(runDirectory);
  return names.reduce((highest, name) => Math.max(highest, Number(CLAIM.exec(name)?.[1] ?? 0)), 0);
}

/**
 * Claims the data folder for the process that listens on the socket `candidate`.
 *
 * @param runDirectory the folder of sockets; `socketDirectory` the same under a path short enough to
 *   connect to.
 * @returns null if another process holds it, or was faster.
 */
export async function claimOwnership(
  runDirectory: string,
  socketDirectory: string,
  candidate: string,
): Promise<Claim | null> {
  for (;;) {
    const latest = await highestClaim(runDirectory);
    if (latest > 0 && (await answers(join(socketDirectory, claimName(latest))))) return null;
    const generation = latest + 1;
    const path = join(runDirectory, claimName(generation));
    const outcome = await tryLink(join(runDirectory, candidate), path);
    if (outcome === 'candidate gone') return null;
    if (outcome === 'taken') continue;
    // The number was free again if whole generations came and went since we looked.
    if ((await highestClaim(runDirectory)) !== generation) return null;
    await unlink(join(runDirectory, candidate)).catch(() => {});
    await cleanUp(runDirectory, socketDirectory, generation);
    return { generation, isHeld: sameFile(path) };
  }
}

async function tryLink(from: string, to: string): Promise<'linked' | 'taken' | 'candidate gone'> {
  try {
    await link(from, to);
    return 'linked';
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return 'taken';
    if (codeOf(error) === 'ENOENT') return 'candidate gone';
    throw error;
  }
}

/** Takes away what dead processes have left: lower claims, and candidates that nobody listens on. */
async function cleanUp(runDirectory: string, socketDirectory: string, generation: number): Promise<void> {
  for (const name of await readdir(runDirectory)) {
    const claimed = CLAIM.exec(name)?.[1];
    const stale =
      claimed === undefined
        ? CANDIDATE.test(name) && !(await answers(join(socketDirectory, name)))
        : Number(claimed) < generation;
    if (stale) await unlink(join(runDirectory, name)).catch(() => {});
  }
}

/** A function that tells whether there still is the file at `path` that is there now. */
export function sameFile(path: string): () => boolean {
  const claimed = statSync(path, { bigint: true });
  return () => {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found !== undefined && found.ino === claimed.ino && found.dev === claimed.dev;
  };
}
