import { expect } from 'vitest';
import { InvalidObservationError } from '../../src/model/errors.js';

/** The result; undefined if the input is rejected with a reason, and in no other way. */
export function resultOf<Result>(
  read: () => Result,
  Rejection: new (reason: string) => Error = InvalidObservationError,
): Result | undefined {
  try {
    return read();
  } catch (error) {
    expect(error).toBeInstanceOf(Rejection);
    return undefined;
  }
}

/** @param reason As toThrow() takes it. */
export function expectRejected(
  read: () => unknown,
  reason: string | RegExp,
  Rejection: new (reason: string) => Error = InvalidObservationError,
): void {
  expect(read).toThrow(Rejection);
  expect(read).toThrow(reason);
}
