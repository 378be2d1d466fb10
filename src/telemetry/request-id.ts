import { AsyncLocalStorage } from 'node:async_hooks';

const storage = new AsyncLocalStorage<string>();

/** Runs some work, and all that follows from it, for a request of this id. */
export function runForRequest<Result>(requestId: string, work: () => Result): Result {
  return storage.run(requestId, work);
}

/** The id of the request that this is done for; undefined outside runForRequest(). */
export function currentRequestId(): string | undefined {
  return storage.getStore();
}
