import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What is still there of the requests that servers of this process have got. */
export interface KeptRequests {
  /** How many requests or responses of them are still in memory, when all garbage is collected. */
  count(): number;
  stop(): void;
}

/** Follows requests from now on, without keeping any. */
export function followRequests(): KeptRequests {
  const followed: WeakRef<object>[] = [];
  const follow = (message: unknown) => {
    for (const part of ['request', 'response']) {
      const value: unknown = Reflect.get(Object(message), part);
      if (typeof value === 'object' && value !== null) followed.push(new WeakRef(value));
    }
  };
  subscribe('http.server.request.start', follow);
  return {
    count() {
      collectGarbage();
      return followed.filter((reference) => reference.deref() !== undefined).length;
    },
    stop: () => unsubscribe('http.server.request.start', follow),
  };
}

/** The memory of this process that is in use, in MB, when all garbage is collected. */
export function memoryInUse(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1_000_000;
}

const collectGarbage = garbageCollector();

/** What Node.js offers under a flag only, which may be set at any time. */
function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect !== 'function') throw new Error('The collector of garbage cannot be called.');
  return () => collect();
}
