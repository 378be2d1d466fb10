import { type ChildProcess, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** Debian has servers where only an administrator's PATH looks. */
export const PATH = `${process.env['PATH']}:/usr/sbin`;

export function isInstalled(program: string): boolean {
  return PATH.split(':').some((folder) => existsSync(join(folder, program)));
}

/** Whether a process runs. One that has ended and waits for its parent to notice does not. */
export function isRunning(processId: number): boolean {
  return isSignalled(processId, 0) && !isDefunct(processId);
}

/** Sends a signal. @returns false where the process is over. */
export function isSignalled(processId: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(processId, signal);
  } catch {
    return false;
  }
}

/** The processes that a process has started and that run, in the order of their start. */
export function childrenOf(processId: number): number[] {
  const output = execFileSync('ps', ['-A', '-o', 'pid=,ppid=']).toString();
  const pairs = output.split('\n').map((line) => line.trim().split(/\s+/).map(Number));
  const children = pairs.filter(([, parent]) => parent === processId).map(([id = 0]) => id);
  return children.filter(isRunning).sort((one, other) => one - other);
}

function isDefunct(processId: number): boolean {
  try {
    const status = readFileSync(`/proc/${processId}/stat`, 'utf8');
    // Its other threads may still be at it, and have its sockets.
    const threads = readdirSync(`/proc/${processId}/task`).length;
    return status.slice(status.lastIndexOf(')')).startsWith(') Z') && threads <= 1;
  } catch {
    // A system without /proc, or gone in this moment.
    return false;
  }
}

/** Sends a signal to a child, unless it has ended, and waits for its end. */
export async function endChild(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}

/**
 * Settles once the process has ended, and this process has noticed the end of its connections to it: the system has
 * closed them by then, but a query that is sent before the event loop has read their ends fails with EPIPE.
 */
export async function ended(processId: number): Promise<void> {
  do {
    await pause(20);
  } while (isRunning(processId));
  await pause(20);
}

/** Ends the process as a crash of the machine would, and waits until it is gone. */
export async function killAtOnce(processId: number): Promise<void> {
  process.kill(processId, 'SIGKILL');
  await ended(processId);
}
