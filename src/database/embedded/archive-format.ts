import { POSTGRESQL_MAJOR } from './data-folder.js';

/**
 * A backup is a tar archive: HEAD_NAME, a JSON object that says what it is; every file and folder of the
 * database under PREFIX; and TAIL_NAME, a JSON object with what all of that must add up to.
 */
export const HEAD_NAME = 'dms-backup.json';
export const TAIL_NAME = 'dms-backup-end.json';
export const PREFIX = `postgresql-${POSTGRESQL_MAJOR}`;

/** The version of this format. */
export const FORMAT = 1;

/** What stands at the beginning. */
export interface ArchiveHead {
  readonly format: number;
  /** The major version whose data folder it is. */
  readonly postgresql: number;
  /** RFC 3339. */
  readonly madeAt: string;
}

/** What stands at the end: an archive without it is not whole. */
export interface ArchiveTail {
  readonly files: number;
  /** SHA-256 of every entry's kind, name, size and content in their order, in hexadecimal. */
  readonly sha256: string;
}

/** A path of the data folder: segments of letters, digits, `_`, `-` and `.`, none of them `.` or `..`. */
const SEGMENT = /^(?!\.{1,2}$)[A-Za-z0-9_.-]+$/;

/** Whether an entry's name is one that a data folder has, and leads nowhere else. */
export function isDataPath(name: string): boolean {
  const [first, ...others] = name.split('/');
  return first === PREFIX && others.every((segment) => SEGMENT.test(segment));
}

/** What an entry adds to the digest before its content. */
export function entryMark(type: 'file' | 'directory', name: string, size: number): string {
  return `${type} ${name} ${size}\n`;
}
