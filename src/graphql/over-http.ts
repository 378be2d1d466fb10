import type { ApolloServer } from '@apollo/server';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { type GraphQLFormattedError, type GraphQLSchema, getVariableValues, Kind } from 'graphql';
import type { Viewer } from '../auth/viewer.js';
import { requireToken } from '../auth/viewer.js';
import type { Penalties } from '../rates/penalties.js';
import { setRateFields } from '../rates/rate-policy.js';
import type { RequestContext } from '../resolvers/context.js';
import { sandboxPage, sandboxPolicy, startApollo } from './apollo.js';
import { DocumentLimit } from './document-limit.js';
import { Documents, type DocumentsOptions, type KnownDocument } from './documents.js';
import { type GraphqlExecutor, rejectLarge, type StoredOperation } from './execute.js';
import { formatError, type OnInternalError, retryAfterOf } from './format-error.js';
import type { Variables } from './limits/cost.js';
import {
  BODY_LIMIT,
  bodyError,
  checkHead,
  GRAPHQL_RESPONSE,
  type GraphqlParameters,
  JSON_RESPONSE,
  METHODS,
  mediaTypeFor,
  prefersPage,
  RejectedRequest,
  readParameters,
  rejection,
} from './request.js';
import { stringifyInSlices } from './slices.js';

export interface GraphqlOverHttpOptions extends DocumentsOptions {
  /** Who sent a request. */
  readonly viewerOf: (request: Request) => Viewer;
  /** Takes the errors that clients are not shown, for the log. */
  readonly onInternalError: OnInternalError;
  /** Whether `GET` in a browser opens Apollo Sandbox. */
  readonly sandbox: boolean;
  /** Counts the requests that take nothing that is limited by itself; absent: they are not limited. */
  readonly penalties?: Penalties;
}

/** GraphQL over HTTP on one path: POST, GET and HEAD, and Apollo Sandbox for a browser. */
export interface GraphqlOverHttp {
  /** Reads the body itself. */
  readonly handle: RequestHandler;
  stop(): Promise<void>;
}

/** What the stages of a request share. */
interface Parts extends GraphqlOverHttpOptions {
  readonly executor: GraphqlExecutor;
  readonly documents: Documents;
  readonly documentLimit: DocumentLimit | undefined;
  readonly apollo: ApolloServer<RequestContext>;
}

interface GraphqlResponse {
  readonly status: number;
  readonly data?: unknown;
  readonly errors?: readonly GraphQLFormattedError[] | undefined;
  readonly extensions?: Readonly<Record<string, unknown>> | undefined;
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
  const parts = { ...options, executor, documents, documentLimit, apollo };
  return { handle: stagesOf(parts), stop: () => apollo.stop() };
}

/** The stages of a request, in their order: read, identify, examine, execute, write. */
function stagesOf(parts: Parts): RequestHandler {
  const { viewerOf, sandbox, apollo, documentLimit } = parts;
  /** The octets of each body, decompressed. */
  const octets = new WeakMap<object, number>();
  const verify = (request: object, _response: object, body: Buffer) => octets.set(request, body.length);
  const parseBody = express.json({ limit: BODY_LIMIT, verify });
  const readBody = (request: Request, response: Response) =>
    new Promise<void>((resolve, reject) => {
      parseBody(request, response, (error?: unknown) => {
        if (error === undefined) resolve();
        else reject(bodyError(error));
      });
    });
  const run = async (request: Request, response: Response) => {
    if (request.method === 'OPTIONS') return sendMethods(response);
    if (sandbox && isReading(request) && prefersPage(request)) {
      return sendPage(response, await sandboxPage(apollo));
    }
    checkHead(request);
    const viewer = viewerOf(request);
    try {
      requireToken(viewer);
      documentLimit?.checkLength(viewer, lengthOf(request));
      const read = async () => {
        if (request.method === 'POST') await readBody(request, response);
        const parameters = readParameters(request, sandbox);
        return { parameters, document: parts.documents.identify(parameters) };
      };
      const { parameters, document } = await read().catch(async (error: unknown) => {
        // A body that could not be decompressed has an unknown length.
        const unknown = request.headers['content-encoding'] === undefined ? 0 : BODY_LIMIT;
        await documentLimit?.countBody(viewer, octets.get(request) ?? unknown);
        throw error;
      });
      const work = Math.floor((octets.get(request) ?? 0) / OCTETS_OF_UNIT);
      const result = await respond(parts, { parameters, document, work, viewer, response });
      setRateFields(response, viewer.rates);
      await send(request, response, result);
    } catch (error) {
      setRateFields(response, viewer.rates);
      throw error;
    }
  };
  return (request, response, next) => {
    run(request, response)
      .catch((error: unknown) => {
        if (!(error instanceof RejectedRequest)) throw error;
        for (const [name, value] of Object.entries(error.fields)) response.setHeader(name, value);
        return send(request, response, error);
      })
      .catch(next);
  };
}

/** Reading and examining so much takes a millisecond or two, which are a unit of the rate limit. */
const OCTETS_OF_UNIT = 16_384;
const TOKENS_OF_UNIT = 2_000;

/** A request whose document is identified. */
interface Exchange {
  readonly parameters: GraphqlParameters;
  readonly document: KnownDocument;
  /** The units that its body costs. */
  readonly work: number;
  readonly viewer: Viewer;
  readonly response: Response;
}

async function respond(parts: Parts, exchange: Exchange): Promise<GraphqlResponse> {
  const { documents, documentLimit } = parts;
  const { document, viewer } = exchange;
  let estimatedCost: number | undefined;
  const examineAndExecute = async () => {
    try {
      estimatedCost = documents.examine(document, exchange.parameters);
      return await execute(parts, exchange, estimatedCost);
    } finally {
      documents.release(document);
    }
  };
  if (documentLimit === undefined) return examineAndExecute();
  return documentLimit.run(viewer, document, examineAndExecute, () => estimatedCost);
}

/** Executes a document that is valid and within the limits: compiled if it is frequent, else by Apollo Server. */
async function execute(
  parts: Parts,
  { parameters, document, work, viewer, response }: Exchange,
  estimatedCost: number | undefined,
): Promise<GraphqlResponse> {
  const context = parts.executor.contextFor(viewer, response);
  const units = work + Math.floor(parts.documents.newTokens(document) / TOKENS_OF_UNIT);
  if (units > 0) await context.budget.spend(units);
  const frequent = parts.documents.frequent(document);
  const { status, ...result } =
    (await executeCompiled(parts, frequent, parameters, context)) ??
    (await executeByApollo(parts, document, parameters, context));
  const { exceeded } = context.budget;
  // Which fields came first, and would have data, depends on the way of execution.
  if (exceeded !== undefined) throw rejection(400, exceeded.code, exceeded.message);
  if (result.data === undefined) return { ...result, status: Math.max(status, 400) };
  return { ...result, status, extensions: { cost: context.budget.units, estimatedCost } };
}

async function executeCompiled(
  { executor, onInternalError }: Parts,
  operation: StoredOperation | undefined,
  { operationName, variables }: GraphqlParameters,
  context: RequestContext,
): Promise<GraphqlResponse | undefined> {
  if (operation === undefined || !isFor(operation, operationName, variables, executor.schema))
    return undefined;
  const { data, errors } = await executor.run(operation, variables, context);
  if (data === undefined) return undefined;
  const formatted = errors?.map((error) => formatError(error.toJSON(), error, onInternalError));
  return { status: 200, data, errors: formatted };
}

/**
 * Whether a compiled operation has the name and takes the variables of a request. Apollo Server reports what is wrong
 * with them, in a bounded number of errors.
 */
function isFor(
  { document }: StoredOperation,
  operationName: string | null,
  variables: Variables,
  schema: GraphQLSchema,
): boolean {
  const operation = document.definitions.find(({ kind }) => kind === Kind.OPERATION_DEFINITION);
  if (operation?.kind !== Kind.OPERATION_DEFINITION) return false;
  if (operationName !== null && operationName !== operation.name?.value) return false;
  const { variableDefinitions = [] } = operation;
  return getVariableValues(schema, variableDefinitions, variables, { maxErrors: 1 }).coerced !== undefined;
}

/** A compilable document that turns out to read a large history is executed again, compiled. */
async function executeByApollo(
  parts: Parts,
  document: KnownDocument,
  parameters: GraphqlParameters,
  context: RequestContext,
): Promise<GraphqlResponse> {
  if (!parts.documents.isCompilable(document)) return executeOperation(parts, document, parameters, context);
  let isLarge = false;
  const onLarge: RequestContext['onLarge'] = (key, octets) => {
    isLarge = true;
    return rejectLarge(key, octets);
  };
  const result = await executeOperation(parts, document, parameters, { ...context, onLarge });
  if (!isLarge) return result;
  context.budget.restart();
  return (
    (await executeCompiled(parts, parts.documents.compiled(document), parameters, context)) ??
    executeOperation(parts, document, parameters, context)
  );
}

async function executeOperation(
  { apollo }: Parts,
  { source }: KnownDocument,
  { operationName, variables }: GraphqlParameters,
  contextValue: RequestContext,
): Promise<GraphqlResponse> {
  const request = { query: source, variables, ...(operationName === null ? {} : { operationName }) };
  const { body, http } = await apollo.executeOperation(request, { contextValue });
  if (body.kind !== 'single') throw new Error('Apollo Server has executed a document incrementally.');
  const { data, errors } = body.singleResult;
  return { status: http.status ?? 200, data, errors };
}

function isReading({ method }: Request): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** The length of a request's body; undefined where it is sent in chunks, or compressed. */
function lengthOf({ headers }: Request): number | undefined {
  if (headers['transfer-encoding'] !== undefined || headers['content-encoding'] !== undefined)
    return undefined;
  return Number(headers['content-length'] ?? 0);
}

async function send(
  request: Request,
  response: Response,
  { status, data, errors, extensions }: GraphqlResponse,
): Promise<void> {
  const mediaType = mediaTypeFor(request) ?? JSON_RESPONSE;
  // Only with this media type does a response without data need a status of 400 or more (GraphQL over HTTP, 6.4.2).
  response.statusCode = data === undefined && mediaType === GRAPHQL_RESPONSE ? Math.max(status, 400) : status;
  const retryAfter = retryAfterOf(errors);
  if (retryAfter !== undefined) response.setHeader('retry-after', String(retryAfter));
  end(response, mediaType, `${await stringifyInSlices({ errors, data, extensions })}\n`);
}

/** The methods that there are (RFC 9110, section 9.3.7), and no permission for pages of other sites. */
function sendMethods(response: Response): void {
  response.setHeader('allow', METHODS);
  response.setHeader('content-length', 0);
  response.end();
}

function sendPage(response: Response, html: string): void {
  response.setHeader('content-security-policy', sandboxPolicy(html));
  // It would keep Apollo's frame out.
  response.removeHeader('cross-origin-embedder-policy');
  end(response, 'text/html; charset=utf-8', html);
}

function end(response: Response, mediaType: string, body: string): void {
  response.setHeader('content-type', mediaType);
  // Node.js would leave it out of the response to HEAD.
  response.setHeader('content-length', Buffer.byteLength(body));
  response.end(body);
}
