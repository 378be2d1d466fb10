import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApolloServer } from '@apollo/server';
import type { ExecutionResult, GraphQLFormattedError } from 'graphql';
import type { Viewer } from '../auth/viewer.js';
import { requireToken } from '../auth/viewer.js';
import { abandoned } from '../loaders/recipient.js';
import { fairTurns } from '../rates/fair-turns.js';
import type { Penalties } from '../rates/penalties.js';
import { setRateFields } from '../rates/rate-policy.js';
import type { RequestContext } from '../resolvers/context.js';
import { type RequestBudget, unitsOfIntrospection, unitsOfRequest } from '../resolvers/request-budget.js';
import { sandboxPage, sandboxPolicy, startApollo, thrownErrorOf } from './apollo.js';
import { DocumentLimit } from './document-limit.js';
import { Documents, type DocumentsOptions, type KnownDocument } from './documents.js';
import { sendResults, sentResults } from './event-stream.js';
import { type GraphqlExecutor, inOneState, type StoredOperation } from './execute.js';
import { formatError, type OnInternalError, retryAfterOf } from './format-error.js';
import {
  acceptsEvents,
  BodyReader,
  checkHead,
  EVENT_STREAM,
  GRAPHQL_RESPONSE,
  type GraphqlParameters,
  JSON_RESPONSE,
  METHODS,
  mediaTypeFor,
  prefersPage,
  RejectedRequest,
  readParameters,
  rejection,
  requireEvents,
} from './request.js';
import { stringifyInSlices } from './slices.js';

export interface GraphqlOverHttpOptions extends DocumentsOptions {
  /** Who sent a request. */
  readonly viewerOf: (request: IncomingMessage) => Viewer;
  /** Takes the errors that the client of a request is not shown, for the log. */
  readonly onInternalError: (error: unknown, request: IncomingMessage) => void;
  /** Whether `GET` in a browser opens Apollo Sandbox. */
  readonly sandbox: boolean;
  /** Counts the requests that take nothing that is limited by itself; absent: they are not limited. */
  readonly penalties?: Penalties;
}

/** GraphQL over HTTP on one path: POST, GET and HEAD, and Apollo Sandbox for a browser. */
export interface GraphqlOverHttp {
  /** Reads the body itself. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  stop(): Promise<void>;
}

/** What the stages of a request share. */
interface Parts extends GraphqlOverHttpOptions {
  readonly executor: GraphqlExecutor;
  readonly bodies: BodyReader;
  readonly documents: Documents;
  readonly documentLimit: DocumentLimit | undefined;
  readonly apollo: ApolloServer<RequestContext>;
}

interface GraphqlResponse {
  readonly status: number;
  readonly data?: unknown;
  readonly errors?: readonly GraphQLFormattedError[] | undefined;
  readonly extensions?: Readonly<Record<string, unknown>> | undefined;
  /** How many values are in lists; absent: it is not known. */
  readonly values?: number;
  /** Of a subscription: all that it gives, in place of data and errors. */
  readonly results?: AsyncGenerator<ExecutionResult, void, void>;
}

/** @throws OperationError where a listed operation is not allowed. */
export async function createGraphqlOverHttp(
  executor: GraphqlExecutor,
  options: GraphqlOverHttpOptions,
): Promise<GraphqlOverHttp> {
  const { penalties } = options;
  const documents = new Documents(executor.schema, options);
  const apollo = await startApollo(executor.slicedSchema, documents, options);
  const documentLimit = penalties && new DocumentLimit(penalties);
  const parts = { ...options, executor, bodies: new BodyReader(), documents, documentLimit, apollo };
  return { handle: stagesOf(parts), stop: () => apollo.stop() };
}

/** The stages of a request, in their order: read, identify, examine, execute, write. */
function stagesOf(parts: Parts): GraphqlOverHttp['handle'] {
  const { viewerOf, sandbox, apollo } = parts;
  const run = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.method === 'OPTIONS') return sendMethods(response);
    if (sandbox && isReading(request) && prefersPage(request)) {
      return sendPage(response, await sandboxPage(apollo));
    }
    checkHead(request);
    const viewer = viewerOf(request);
    try {
      requireToken(viewer);
      const exchange = await readAndIdentify(parts, request, response, viewer);
      const result = await examineAndExecute(parts, exchange);
      setRateFields(response, viewer.rates);
      if (result.results !== undefined) await sendResults(request, response, result.results);
      else await write(request, response, result, viewer);
    } catch (error) {
      setRateFields(response, viewer.rates);
      throw error;
    }
  };
  return (request, response) =>
    run(request, response).catch((error: unknown) => {
      if (!(error instanceof RejectedRequest)) throw error;
      for (const [name, value] of Object.entries(error.fields)) response.setHeader(name, value);
      return write(request, response, error, viewerOf(request));
    });
}

/** A request whose document is identified. */
interface Exchange {
  readonly parameters: GraphqlParameters;
  readonly document: KnownDocument;
  /** Of its body, decompressed. */
  readonly octets: number;
  readonly viewer: Viewer;
  readonly response: ServerResponse;
}

async function readAndIdentify(
  { bodies, documents, documentLimit, sandbox }: Parts,
  request: IncomingMessage,
  response: ServerResponse,
  viewer: Viewer,
): Promise<Exchange> {
  try {
    if (request.method === 'POST') {
      const check = (octets: number | undefined) => documentLimit?.checkLength(viewer, octets);
      await bodies.read(request, response, viewer.rateLimitKey, check);
    }
    const parameters = readParameters(request, response, sandbox);
    const document = documents.identify(parameters);
    return { parameters, document, octets: request.bodyOctets ?? 0, viewer, response };
  } catch (error) {
    await documentLimit?.countBody(viewer, request.bodyOctets ?? 0);
    throw error;
  }
}

async function examineAndExecute(parts: Parts, exchange: Exchange): Promise<GraphqlResponse> {
  const { documents, documentLimit } = parts;
  const { parameters, viewer } = exchange;
  documentLimit?.check(viewer, exchange.document);
  const document = await documents.inTurn(exchange.document, viewer.rateLimitKey);
  // Others of this client may have been counted meanwhile.
  const spent = documentLimit?.enter(viewer, document) ?? 0;
  let estimatedCost: number | undefined;
  try {
    if (document.examined === undefined) await documents.examineInTurns(document, viewer.rateLimitKey);
    if (exchange.response.destroyed) throw abandoned();
    estimatedCost = documents.examine(document, parameters);
    const isSubscription = documents.subscription(document, parameters.operationName) !== undefined;
    if (isSubscription) requireEvents(exchange.response.req);
    const turn = fairTurns.take(
      viewer.rateLimitKey,
      documents.millisecondsOf(document, parameters.operationName),
    );
    if (turn !== undefined) await turn;
    if (exchange.response.destroyed) throw abandoned();
    return await execute(parts, exchange, document, estimatedCost);
  } finally {
    documents.release(document);
    await documentLimit?.leave(viewer, document, spent, exchange.octets, estimatedCost);
  }
}

/**
 * Executes a document that is valid and within the limits: compiled if it is frequent, else by Apollo Server.
 *
 * @param estimatedCost Undefined where the document has no operation of the name.
 */
async function execute(
  parts: Parts,
  { parameters, octets, viewer, response }: Exchange,
  document: KnownDocument,
  estimatedCost: number | undefined,
): Promise<GraphqlResponse> {
  const { documents, executor } = parts;
  const onInternalError = (error: unknown) => parts.onInternalError(error, response.req);
  const context = executor.contextFor(viewer, response, onInternalError);
  const { budget } = context;
  const introspection = documents.introspection(document, parameters.operationName);
  let units = unitsOfRequest(octets, documents.newWork(document));
  // A query for the schema alone is limited as a document, unless it pays for itself: then it does not count as one.
  if (introspection !== undefined && (!introspection.isAll || units > 0)) {
    units += unitsOfIntrospection(introspection);
  }
  if (units > 0) await budget.spend(units);
  if (introspection !== undefined) await budget.reserve(introspection);
  const frequent = estimatedCost === undefined ? undefined : documents.frequent(document);
  const subscription = documents.subscription(document, parameters.operationName);
  if (subscription !== undefined) {
    const subscribed = await executor.subscribe(subscription, parameters, context);
    const source = Symbol.asyncIterator in subscribed ? subscribed : inOne(subscribed);
    return { status: 200, results: sentResults(source, context, response, onInternalError) };
  }
  // Apollo Server reports that there is no operation of the name.
  const { status, data, errors } = await inOneState(
    budget,
    () =>
      frequent === undefined
        ? executeByApollo(parts, document, parameters, context, onInternalError)
        : executeCompiled(executor, frequent, parameters, context, onInternalError),
    MOST_UNITS_IN_ONE_STATE,
  );
  if (data !== undefined && errors !== undefined) await countErrors(budget, errors);
  const extensions = { cost: budget.units, estimatedCost };
  if (budget.exceeded !== undefined) {
    // Which fields came first, and would have data, depends on the way of execution.
    const { code, message } = budget.exceeded;
    throw rejection(400, code, message, { extensions });
  }
  if (data === undefined) return { status: Math.max(status, 400), errors };
  return { status, data, errors, extensions, values: budget.values };
}

/** What costs more has many domains, of which one or the other always changes where much is recorded. */
const MOST_UNITS_IN_ONE_STATE = 50;

/** What an error has besides its path: itself, its message, its extensions and their code. */
const VALUES_OF_ERROR = 4;

/** Errors count in the size of the response as values do. They are paid for, unless they say that the client has nothing left. */
async function countErrors(budget: RequestBudget, errors: readonly GraphQLFormattedError[]): Promise<void> {
  if (budget.isOver) return;
  const size = { values: 0, octets: 0 };
  for (const error of errors) {
    size.values += VALUES_OF_ERROR + (error.path?.length ?? 0);
    size.octets += Buffer.byteLength(JSON.stringify(error));
  }
  const isLimited = errors.some(({ extensions }) => extensions?.['code'] === 'RATE_LIMITED');
  try {
    await budget.takeErrors(size, !isLimited);
  } catch (error) {
    if (error !== budget.exceeded) throw error;
  }
}

async function* inOne(result: ExecutionResult): AsyncGenerator<ExecutionResult, void, void> {
  yield result;
}

async function executeCompiled(
  executor: GraphqlExecutor,
  operation: StoredOperation,
  { variables }: GraphqlParameters,
  context: RequestContext,
  onInternalError: OnInternalError,
): Promise<GraphqlResponse> {
  const { data, errors } = await executor.executeCompiled(operation, variables, context);
  const formatted = errors?.map((error) => {
    // Documents have no locations, of which the compiler makes an empty list.
    const { locations: _, ...shown } = error.toJSON();
    return formatError(shown, error, onInternalError);
  });
  return { status: 200, data, errors: formatted };
}

/** A compilable document that turns out to have a large result is executed again, compiled. */
async function executeByApollo(
  parts: Parts,
  document: KnownDocument,
  parameters: GraphqlParameters,
  context: RequestContext,
  onInternalError: OnInternalError,
): Promise<GraphqlResponse> {
  const { documents, executor } = parts;
  const { budget, viewer } = context;
  if (documents.isCompilable(document)) budget.beginTentative();
  const result = await executeOperation(parts, document, parameters, context, onInternalError);
  if (!budget.isAbandoned) return result;
  budget.restart();
  await fairTurns.take(viewer.rateLimitKey, MILLISECONDS_OF_COMPILATION);
  const compiled = documents.compiled(document);
  return compiled === undefined
    ? executeOperation(parts, document, parameters, context, onInternalError)
    : executeCompiled(executor, compiled, parameters, context, onInternalError);
}

/** Of the largest document that is compiled. */
const MILLISECONDS_OF_COMPILATION = 30;

async function executeOperation(
  { apollo }: Parts,
  { source }: KnownDocument,
  { operationName, variables }: GraphqlParameters,
  contextValue: RequestContext,
  onInternalError: OnInternalError,
): Promise<GraphqlResponse> {
  const request = { query: source, variables, ...(operationName === null ? {} : { operationName }) };
  const { body, http } = await apollo.executeOperation(request, { contextValue });
  if (body.kind !== 'single') throw new Error('Apollo Server has executed a document incrementally.');
  const { data, errors } = body.singleResult;
  const formatted = errors?.map((error) => formatError(error, thrownErrorOf(error), onInternalError));
  return { status: http.status ?? 200, data, errors: formatted };
}

function isReading({ method }: IncomingMessage): boolean {
  return method === 'GET' || method === 'HEAD';
}

async function write(
  request: IncomingMessage,
  response: ServerResponse,
  { status, data, errors, extensions, values }: GraphqlResponse,
  { rateLimitKey }: Viewer,
): Promise<void> {
  const accepted = mediaTypeFor(request);
  const isEvents = accepted === undefined && acceptsEvents(request) && isOfOperation(status, errors);
  const mediaType = isEvents ? EVENT_STREAM : (accepted ?? JSON_RESPONSE);
  // Only with this media type does a response without data need a status of 400 or more (GraphQL over HTTP, 6.4.2).
  response.statusCode = data === undefined && mediaType === GRAPHQL_RESPONSE ? Math.max(status, 400) : status;
  const retryAfter = retryAfterOf(errors);
  if (retryAfter !== undefined) response.setHeader('retry-after', String(retryAfter));
  const body = { errors, data, extensions };
  const stringified = stringifyInSlices(body, rateLimitKey, values);
  const text = typeof stringified === 'string' ? stringified : await stringified;
  if (isEvents) response.statusCode = 200;
  end(
    response,
    mediaType,
    isEvents ? `event: next\ndata: ${text}\n\nevent: complete\ndata:\n\n` : `${text}\n`,
  );
}

/**
 * Whether a response says what became of an operation, which is an event for a client that accepts only these: an error of
 * validation, too, since EventSource shows no other (GraphQL over SSE, distinct connections). What is wrong with the request
 * itself has its status.
 */
function isOfOperation(status: number, errors: readonly GraphQLFormattedError[] = []): boolean {
  return status === 200 || (status === 400 && errors[0]?.extensions?.['code'] !== 'BAD_REQUEST');
}

/** The methods that there are (RFC 9110, section 9.3.7), and no permission for pages of other sites. */
function sendMethods(response: ServerResponse): void {
  response.setHeader('allow', METHODS);
  response.setHeader('content-length', 0);
  response.end();
}

function sendPage(response: ServerResponse, html: string): void {
  response.setHeader('content-security-policy', sandboxPolicy(html));
  // It would keep Apollo's frame out.
  response.removeHeader('cross-origin-embedder-policy');
  end(response, 'text/html; charset=utf-8', html);
}

function end(response: ServerResponse, mediaType: string, body: string): void {
  response.setHeader('content-type', mediaType);
  // Node.js would leave it out of the response to HEAD.
  response.setHeader('content-length', Buffer.byteLength(body));
  response.end(body);
}
