import { UnavailableError } from '../model/errors.js';

/**
 * Gives what is under way, if it comes in time. What comes later is dropped.
 *
 * @param milliseconds from now.
 * @throws UnavailableError where it does not; else what the work throws.
 */
export function withinTime<Result>(milliseconds: number, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => reject(new UnavailableError()), milliseconds);
    work.then(
      (result) => {
        clearTimeout(limit);
        resolve(result);
      },
      (error: unknown) => {
        clearTimeout(limit);
        reject(error);
      },
    );
  });
}
