import type { Viewer } from '../auth/viewer.js';

/** For whom something is read: what travels from a request down to the loaders. */
export interface Caller {
  readonly viewer: Viewer;
  readonly signal: ClientSignal;
}

/** Whether the client has gone, so that nothing more is read for it: as Node.js' ServerResponse tells. */
export interface ClientSignal {
  /** Also once the client has read its response. */
  readonly destroyed: boolean;
  once(event: 'close', listener: () => void): unknown;
}

export function signalUntil(signal: AbortSignal): ClientSignal {
  return {
    get destroyed() {
      return signal.aborted;
    },
    once: (_close, listener) => signal.addEventListener('abort', listener, { once: true }),
  };
}

export const NEVER_GONE: ClientSignal = { destroyed: false, once() {} };
