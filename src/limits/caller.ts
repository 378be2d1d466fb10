import type { Viewer } from '../auth/viewer.js';

/** For whom something is read: what travels from a request down to the loaders. */
export interface Caller {
  readonly viewer: Viewer;
  readonly signal: ClientSignal;
}

/** Whether the client has gone: nothing more is read for it then. */
export interface ClientSignal {
  readonly aborted: boolean;
  onAbort(listener: () => void): void;
}

/** A response in progress, such as Node.js' own ServerResponse: destroyed once it is read, or its client has gone. */
interface Response {
  readonly destroyed: boolean;
  once(event: 'close', listener: () => void): unknown;
}

/** The signal of the client of a response. */
export function signalOf(response: Response): ClientSignal {
  return new ResponseSignal(response);
}

/** A class, since V8 keeps a literal with a getter as a dictionary: 3 µs for each request. */
class ResponseSignal implements ClientSignal {
  readonly #response: Response;

  constructor(response: Response) {
    this.#response = response;
  }

  get aborted(): boolean {
    return this.#response.destroyed;
  }

  onAbort(listener: () => void): void {
    this.#response.once('close', listener);
  }
}

/** Of a caller that waits until it gets what it asked for. */
export const NEVER_ABORTED: ClientSignal = { aborted: false, onAbort() {} };
