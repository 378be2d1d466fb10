import { expect, test } from 'vitest';
import { OperationError } from '../../src/model/errors.js';
import { unreadable, unwritable } from '../../src/model/file-failure.js';

const systemError = (code: string) => Object.assign(new Error(`${code}: .hidden.tar`), { code });

test.each([
  [
    unreadable('x.tar', systemError('EACCES')),
    /^x\.tar cannot be read, permission denied: check the permissions, or /,
  ],
  [
    unwritable('x.tar', systemError('EACCES')),
    /^x\.tar cannot be written, permission denied: check the permissions, or /,
  ],
  [
    unwritable('x.tar', systemError('ENOSPC')),
    /^x\.tar cannot be written, since its disk is full: make room /,
  ],
  [unwritable('x.tar', systemError('EIO')), /^x\.tar cannot be written \(EIO\)\.$/],
])('%s', (error, line) => {
  expect(error).toBeInstanceOf(OperationError);
  expect(error.message).toMatch(line);
});
