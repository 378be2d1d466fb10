import type { ExecutionResult } from 'graphql';
import type { RequestContext } from '../resolvers/context.js';
import type { OnInternalError } from './format-error.js';

/** What the plugins of a request share. */
export interface GraphqlContext extends RequestContext {
  /** Takes errors that the client is not shown, for the log. */
  readonly onInternalError: OnInternalError;
  readonly outcome: Outcome;
  /** Whether the client accepts server-sent events. */
  readonly takesEvents: boolean;
}

/** What a request comes to. An object of its own, since Apollo Server copies the context. */
export interface Outcome {
  /** Gives the request's place back; absent: it has none. */
  leave?: () => void;
  /** Of a subscription: its results, in place of the response's body, and the context that they are made in. */
  results?: AsyncIterable<ExecutionResult>;
  context?: RequestContext;
  /** Set where the document is nested too deep to be validated. */
  isTooDeep?: boolean;
}
