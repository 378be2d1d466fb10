import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Authenticate } from '../auth/authenticate.js';
import type { Viewer } from '../auth/viewer.js';
import type { GraphqlOverHttp } from '../graphql/over-http.js';
import { acceptedBy, JSON_RESPONSE } from '../graphql/request.js';
import type { Gate } from '../limits/gate.js';
import { setRateFields } from '../limits/rates.js';
import { UnauthenticatedError } from '../model/errors.js';
import type { RestHandler } from '../rest/v1/handler.js';
import { problemOf, sendBody, sendProblem } from '../rest/v1/problem.js';
import { beginResponses } from './begin-responses.js';
import { compressResponse } from './compression.js';
import { type Forwarding, readForwarding } from './forwarding.js';
import { observeRequests, type RequestParts } from './log-requests.js';
import type { DocumentedService } from './pages/html-pages.js';
import { createPages, type OnFailure } from './pages/pages.js';
import { requestKinds } from './request-kind.js';

export interface AppOptions extends DocumentedService, RequestParts {
  readonly authenticate: Authenticate;
  /** Takes the cost of a failed authentication from its address. @throws RateLimitedError */
  readonly chargeFailure: (viewer: Viewer) => Promise<void>;
  /** Where a token that is looked up takes a place of its address: invalid ones are paid for afterwards. */
  readonly gate: Pick<Gate, 'enter'>;
  /** Which proxies may name the client's address: how many of the nearest hops, or addresses. */
  readonly trustProxy: number | readonly string[];
  readonly corsOrigins: '*' | readonly string[];
  readonly onInternalError: (error: unknown, request: IncomingMessage) => void;
  readonly rest: RestHandler;
  readonly graphql: GraphqlOverHttp['handle'];
}

/**
 * The HTTP side of the service. The APIs do not pass Express, which serves the pages: it gives each request and
 * response a prototype of its own, V8 no longer knows their shapes then, and a request takes 90 µs more.
 */
export function createApp(options: AppOptions): RequestListener {
  const { basePath, corsOrigins, log, rest, graphql } = options;
  const { clientOf, schemeOf, originOf } = readForwarding(options.trustProxy, log);
  const observe = observeRequests(requestKinds(basePath), schemeOf, options);
  const begin = beginResponses(corsOrigins);
  const authenticate = authenticateRequests(clientOf, options);
  /** Sends an error for whatever was thrown before, in the format of the path's API. */
  const onFailure: OnFailure = (error, request, response) => {
    // Rejected meanwhile: its body was not valid HTTP.
    if (response.writableEnded) return;
    if (response.headersSent) {
      log.error({ requestId: request.requestId, err: error }, 'response aborted');
      response.destroy();
      return;
    }
    const onInternal = (internal: unknown) => options.onInternalError(internal, request);
    const problem = problemOf(error, onInternal, request.kind.isFeed);
    if (request.kind.api !== 'graphql') return sendProblem(request, response, problem);
    const { status, detail: message, code } = problem.body;
    const fields = { ...problem.headers, 'content-type': acceptedBy(request).mediaType ?? JSON_RESPONSE };
    sendBody(response, status, fields, JSON.stringify({ errors: [{ message, extensions: { code } }] }));
  };
  const pages = createPages(options, onFailure);

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    begin(request, response);
    if (response.writableEnded) return;
    await authenticate(request, response);
    const { api } = request.kind;
    if (api !== 'rest' && api !== 'graphql') return pages(request, response);
    compressResponse(request, response);
    const { viewer } = request;
    return api === 'graphql' ? graphql(request, response, viewer) : rest(request, response, viewer, originOf);
  };
  return (request, response) =>
    observe(request, response, () => {
      answer(request, response).catch((error: unknown) => onFailure(error, request, response));
    });
}

/** An invalid credential is rejected before anything else is read, with one error for every reason. */
function authenticateRequests(
  clientOf: Forwarding['clientOf'],
  { authenticate, gate, log, chargeFailure }: AppOptions,
) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const client = clientOf(request);
    const { authorization } = request.headers;
    const enter = () => gate.enter({ viewer: anonymous(`tokens of ${client}`), signal: response });
    const leave = authorization === undefined ? undefined : await enter();
    try {
      request.viewer = await authenticate(authorization, client);
    } catch (error) {
      if (!(error instanceof UnauthenticatedError)) throw error;
      const { reason } = error;
      if (reason !== undefined) log.info({ requestId: request.requestId, reason }, 'token rejected');
      const viewer = anonymous(client);
      await chargeFailure(viewer).catch((rejection: unknown) => {
        // Only here: 401 has one response for all tokens.
        setRateFields(response, viewer.rates);
        throw rejection;
      });
      throw error;
    } finally {
      leave?.();
    }
  };
}

function anonymous(rateLimitKey: string): Viewer {
  return { kind: 'anonymous', rateLimitKey, scopes: new Set() };
}
