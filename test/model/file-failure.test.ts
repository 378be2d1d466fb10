import { expect, test } from 'vitest';
import { OperationError } from '../../src/model/errors.js';
import { unreadable, unwritable } from '../../src/model/file-failure.js';

test.each([
  ['EACCES', 'x.tar cannot be read, permission denied: check the permissions, or name another file.'],
  ['EACCES', 'x.tar cannot be written, permission denied: check the permissions, or name another file.'],
  ['ENOSPC', 'x.tar cannot be written, since its disk is full: make room there, or name a file on another.'],
  ['EIO', 'x.tar cannot be written (EIO).'],
])('a file that fails with %s is told as: %s', (code, line) => {
  const failure = line.includes('cannot be read') ? unreadable : unwritable;
  const error = failure('x.tar', Object.assign(new Error(`${code}: .hidden.tar`), { code }));
  expect(error).toEqual(new OperationError(line));
});
