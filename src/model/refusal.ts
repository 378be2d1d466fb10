import { InvalidDomainError, InvalidObservationError } from './errors.js';

/**
 * What to throw for an error that was met at a place of an observation: a refusal becomes an
 * InvalidObservationError whose message begins with the place (`dnsRecords[3]: …`); any other error,
 * a defect of the program, stays as it is.
 */
export function refusedAt(place: string, error: unknown): unknown {
  const refusal = error instanceof InvalidObservationError || error instanceof InvalidDomainError;
  return refusal ? new InvalidObservationError(`${place}: ${error.message}`) : error;
}

/** The result of `read`, whose refusals come out with the place that they were met at. */
export function readAt<Result>(place: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw refusedAt(place, error);
  }
}
