import express, { type Express, type Handler, type Request } from 'express';
import type { Authenticate } from '../auth/authenticate.js';
import type { RestHandler } from '../rest/v1/handler.js';
import type { AnonymousAccess } from '../rest/v1/routes.js';
import type { Logger } from '../telemetry/logging.js';
import type { RequestMetrics } from '../telemetry/request-metrics.js';
import type { Tracing } from '../telemetry/tracing.js';
import { authenticateRequests, warnOfForwarding } from './authenticate-requests.js';
import { beginResponses } from './begin-responses.js';
import { allowOrigins } from './cross-origin.js';
import { handleErrors, notFound } from './handle-errors.js';

import { limitBodies } from './limit-body.js';
import { identifyRequests, logRequests } from './log-requests.js';
import { answerPages } from './pages/pages.js';
import { requestKinds } from './request-kind.js';

/** The parts of the HTTP side. */
interface AppOptions {
  /** '' or like `/dms`. */
  readonly basePath: string;
  /** What a client without a token may do, as `authenticate` and the APIs have it: for the pages. */
  readonly access: AnonymousAccess;
  /** Whether any query is allowed, so that Sandbox and GraphiQL are of use: for the pages. */
  readonly sandbox: boolean;
  /** Whether the page that shows the history has what it needs: for the pages. */
  readonly webPage: boolean;
  /** Which proxies may name the client's address: how many of the nearest hops, or addresses. */
  readonly trustProxy: number | readonly string[];
  /** The origins whose pages may read responses: all, or these. */
  readonly corsOrigins: '*' | readonly string[];
  readonly log: Logger;
  readonly metrics: RequestMetrics;
  /** Null: no traces are sent. */
  readonly tracing: Tracing | null;
  /** Removes secrets from what is sent with traces. */
  readonly redact: (text: string) => string;
  readonly authenticate: Authenticate;
  readonly rest: RestHandler;
  /** Reads the body itself. */
  readonly graphql: Handler;
}

/** Joins the stages of a request, in their order. */
export function createApp(options: AppOptions): Express {
  const { basePath, access, trustProxy, corsOrigins, log, metrics, tracing, redact } = options;
  const { authenticate, rest, graphql } = options;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.set('trust proxy', trustProxy);

  const graphqlPath = `${basePath}/graphql`;
  app.use(identifyRequests);
  app.use(logRequests({ log, kinds: requestKinds(basePath), metrics, tracing, redact }));
  const variesByOrigin = corsOrigins !== '*' && corsOrigins.length > 0;
  app.use(beginResponses({ variesByOrigin }));
  if (corsOrigins.length > 0) app.use(allowOrigins(corsOrigins));
  app.use(limitBodies((request) => request.path === graphqlPath && isJsonPost(request)));
  if (trustProxy === 0) app.use(warnOfForwarding(log));
  app.use(authenticateRequests(authenticate, log));
  app.use(answerPages({ basePath, access, anyQuery: options.sandbox, webPage: options.webPage }));
  app.use(`${basePath}/api/v1`, restHandler(rest));
  app.all(graphqlPath, graphql);
  app.use(notFound);
  app.use(handleErrors(log, (path) => path === graphqlPath));
  return app;
}

function restHandler(rest: RestHandler): Handler {
  return (request, response) => rest(request, response, request.path, request.viewer);
}

/** Whether GraphQL reads the body. */
function isJsonPost(request: Request): boolean {
  return request.method === 'POST' && request.is('application/json') !== false;
}
