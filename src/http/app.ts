import type { IncomingMessage, RequestListener } from 'node:http';
import express, { type ErrorRequestHandler, type Express, type Request } from 'express';
import type { Authenticate } from '../auth/authenticate.js';
import type { GraphqlOverHttp } from '../graphql/over-http.js';
import type { RestHandler } from '../rest/v1/handler.js';
import type { AnonymousAccess } from '../rest/v1/routes.js';
import type { Logger } from '../telemetry/logging.js';
import type { RequestMetrics } from '../telemetry/request-metrics.js';
import type { Tracing } from '../telemetry/tracing.js';
import {
  authenticateRequests,
  type ChargeFailure,
  findClients,
  warnOfForwarding,
} from './authenticate-requests.js';
import { beginResponses } from './begin-responses.js';
import { allowOrigins } from './cross-origin.js';
import { pathOf } from './endpoint.js';
import { handleErrors, notFound } from './handle-errors.js';
import { limitBodies } from './limit-body.js';
import { identifyRequests, logRequests } from './log-requests.js';
import { answerPages } from './pages/pages.js';
import { requestKinds } from './request-kind.js';
import { joinStages, type OnFailure, type Stage } from './stages.js';

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
  readonly chargeFailure?: ChargeFailure | undefined;
  readonly rest: RestHandler;
  /** Reads the body itself. */
  readonly graphql: GraphqlOverHttp['handle'];
}

/**
 * The HTTP side of the service: joins the stages of a request, in their order. The APIs are the last of them for their
 * paths; all else is handled by Express.
 */
export function createApp(options: AppOptions): RequestListener {
  const { basePath, trustProxy, corsOrigins, log, metrics, tracing, redact } = options;
  const graphqlPath = `${basePath}/graphql`;
  const onFailure = handleErrors(log, (path) => path === graphqlPath);
  const app = createExpressApp(options, onFailure);
  const head = (request: IncomingMessage) => headOf(app, request);
  const clientOf = findClients(trustProxy === 0 ? null : (request) => head(request).ip);
  const observers = { log, kinds: requestKinds(basePath), metrics, tracing, redact };
  const stages: Stage[] = [
    identifyRequests,
    logRequests({ ...observers, schemeOf: (request) => head(request).protocol }),
    beginResponses({ variesByOrigin: corsOrigins !== '*' && corsOrigins.length > 0 }),
    ...(corsOrigins.length > 0 ? [allowOrigins(corsOrigins)] : []),
    limitBodies,
    ...(trustProxy === 0 ? [warnOfForwarding(log)] : []),
    authenticateRequests(options.authenticate, clientOf, log, options.chargeFailure),
    answerApis(`${basePath}/api/v1`, options),
    app,
  ];
  return joinStages(stages, onFailure);
}

/** The pages, and all other paths. */
function createExpressApp(options: AppOptions, onFailure: OnFailure): Express {
  const { basePath, access, trustProxy, sandbox, webPage } = options;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.set('trust proxy', trustProxy);
  app.use(answerPages({ basePath, access, anyQuery: sandbox, webPage }));
  app.use(notFound(basePath));
  // Express knows an error handler by its four parameters.
  const handleError: ErrorRequestHandler = (error: unknown, request, response, _next) =>
    onFailure(error, request, response);
  app.use(handleError);
  return app;
}

/** Express' view of the head of a request, as far as it depends on trusted proxies. */
function headOf(app: Express, { headers, socket }: IncomingMessage): Pick<Request, 'ip' | 'protocol'> {
  return Object.assign(Object.create(app.request), { headers, socket });
}

/** @param prefix Of the paths of REST. */
function answerApis(prefix: string, { rest, graphql }: Pick<AppOptions, 'rest' | 'graphql'>): Stage {
  return (request, response, next) => {
    const { api } = request.kind;
    if (api === 'rest') return rest(request, response, pathOf(request).slice(prefix.length), request.viewer);
    return api === 'graphql' ? graphql(request, response) : next();
  };
}
