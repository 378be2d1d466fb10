import type { ServerResponse } from 'node:http';
import type { GraphQLRequestListener } from '@apollo/server';
import type { GraphQLError } from 'graphql';
import type { RequestContext } from '../resolvers/context.js';
import type { OnInternalError } from './format-error.js';
import type { StreamFormat } from './stream-formats.js';

/** What the plugins of a request share. */
export interface GraphqlContext extends RequestContext {
  /** Takes errors that the client is not shown, for the log. */
  readonly onInternalError: OnInternalError;
  readonly outcome: Outcome;
  /** As what the client accepts the results of a subscription; undefined: it does not. */
  readonly stream: StreamFormat | undefined;
}

/** What a request comes to. An object of its own, since Apollo Server copies the context. */
export interface Outcome {
  /** Gives the request's place back; absent: it has none. */
  leave?: () => void;
  /** Of a subscription: sends its results, in place of the response's body. */
  sendStream?: (response: ServerResponse) => Promise<void>;
  /** What is wrong with the request, where Apollo Server takes it for an error of its own. */
  rejection?: GraphQLError;
}

/** A plugin for each request: what it knows of one is in the context. */
export type GraphqlPlugin = GraphQLRequestListener<GraphqlContext>;
