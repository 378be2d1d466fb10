import { errorCode, OperationError } from './errors.js';

const OTHER = 'or name another file';

/** By the code of the system's error. */
const READING: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist: check the path',
  ENOTDIR: 'does not exist: check the path',
  Z_BUF_ERROR:
    'ends in the middle of its gzip data: copy or download the whole file again, and repeat the command',
  Z_DATA_ERROR:
    'has damaged gzip data, or other data after it: check it with gzip -t, and copy or download it again',
  XZ_DATA_ERROR:
    'has xz data that are damaged, end too early, or are packed in a way that is not supported: check it with xz -t, and unpack it ' +
    'first, xz -dc FILE | dms import -',
};

const WRITING: Readonly<Record<string, string>> = {
  ENOTDIR: `cannot be written, since a part of its path is not a folder: check the path, ${OTHER}`,
  EROFS: 'cannot be written, since its disk is read-only: name a file on another',
  ENOSPC: 'cannot be written, since its disk is full: make room there, or name a file on another',
  EDQUOT: 'cannot be written, since your disk quota is used up: make room there, or name a file on another',
  EPIPE: 'cannot be written, since its reader has closed it',
};

export function unreadable(file: string, error: unknown): OperationError {
  return failure(file, error, READING, 'read');
}

export function unwritable(file: string, error: unknown): OperationError {
  const folder = file.replace(/\/?[^/]*$/, '');
  const missing = `cannot be written, since the folder ${folder} does not exist: create it, ${OTHER}`;
  return failure(file, error, { ...WRITING, ENOENT: missing }, 'written');
}

function failure(file: string, error: unknown, texts: typeof READING, done: string): OperationError {
  if (error instanceof OperationError) return error;
  const code = errorCode(error);
  const isDenied = code === 'EACCES' || code === 'EPERM';
  const reason = isDenied ? `, permission denied: check the permissions, ${OTHER}` : ` (${code || error})`;
  return new OperationError(`${file} ${texts[code] ?? `cannot be ${done}${reason}`}.`, { cause: error });
}
