import { AsyncLocalStorage } from 'node:async_hooks';

/** What the log knows a request by: one object for each, whatever id the client has chosen. */
export interface LoggedRequest {
  readonly requestId: string;
}

const storage = new AsyncLocalStorage<LoggedRequest>();

/** Runs some work, and all that follows from it, for a request of this id. */
export function runForRequest<Result>(requestId: string, work: () => Result): Result {
  return storage.run({ requestId }, work);
}

/** The request that this is done for; undefined outside runForRequest(). */
export function currentRequest(): LoggedRequest | undefined {
  return storage.getStore();
}
