import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';

/** `dms-sort-`, where the process runs, its id, its start, and what mkdtemp adds. */
const NAME = /^dms-sort-([0-9a-f]{12})-(\d{1,10})-(\d*)-\w+$/;

/**
 * Makes a temporary folder for sorting, and removes those that a killed process has left. The name of a folder
 * says from the beginning whose it is, so that none that is in use is taken for such a one.
 *
 * @returns its path.
 */
export async function makeSortFolder(): Promise<string> {
  await removeAbandoned(tmpdir()).catch(() => {
    // What cannot be listed or removed today is of no concern to this run.
  });
  return mkdtemp(join(tmpdir(), `dms-sort-${placeOfProcesses()}-${process.pid}-${startOf(process.pid)}-`));
}

async function removeAbandoned(directory: string): Promise<void> {
  const place = placeOfProcesses();
  for (const name of await readdir(directory)) {
    const [, itsPlace, pid, start = ''] = NAME.exec(name) ?? [];
    if (itsPlace !== place || !hasEnded(Number(pid), start)) continue;
    const path = join(directory, name);
    if (await isOwnFolder(path)) await rm(path, { recursive: true, force: true });
  }
}

/** Others share a folder for temporary files: what they have made, links too, is left alone. */
async function isOwnFolder(path: string): Promise<boolean> {
  const stats = await lstat(path);
  return stats.isDirectory() && (process.getuid === undefined || stats.uid === process.getuid());
}

/** Whether there is no such process any more, or its id is another's by now. */
function hasEnded(pid: number, start: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
  const startNow = startOf(pid);
  return start !== '' && startNow !== '' && startNow !== start;
}

/** When a process was started, in clock ticks since the machine was; empty where the system does not tell. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Field 22 (proc(5)); the program's name, field 2, may hold blanks and brackets.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

/** Within which ids of processes mean the same: containers and machines may share a folder, and a host name. */
function placeOfProcesses(): string {
  const place = `${hostname()} ${machineId()} ${processNamespace()}`;
  return createHash('sha256').update(place).digest('hex').slice(0, 12);
}

/** machine-id(5); empty where there is none. */
function machineId(): string {
  try {
    return readFileSync('/etc/machine-id', 'utf8').trim();
  } catch {
    return '';
  }
}

function processNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}
