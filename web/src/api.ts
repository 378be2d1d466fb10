import type { DocumentTypeDecoration } from '@graphql-typed-document-node/core';
import { signal } from '@preact/signals';
import { createClient, type ExecutionResult, NetworkError } from 'graphql-sse';

/** '' or like `/dms`: where the service is on its host. */
export const basePath = document.getElementById('page')?.dataset['basePath'] ?? '';

/** Whether GraphQL allows any query, so that GraphiQL and Sandbox are there. */
export const anyQuery = document.getElementById('page')?.dataset['anyQuery'] === 'true';

const ENDPOINT = `${basePath}/graphql`;

const TOKEN_KEY = 'dms-token';

/** The access token; kept until the browser's tab is closed. */
export const token = signal(sessionStorage.getItem(TOKEN_KEY) ?? '');

/** Grows with each token that is entered or forgotten: all is asked again. */
export const session = signal(0);

/** Grows when a stream is open again after a failure: what has failed meanwhile is asked again. */
export const reconnected = signal(0);

/** Why the API wants a token; '' while it does not. */
export const tokenRequest = signal('');

/** When requests continue that the rate limit holds back, in milliseconds since the epoch; 0 while there are none. */
export const limitedUntil = signal(0);

/** Keeps a token for the session; '' forgets it. */
export function setToken(text: string): void {
  if (text === '') sessionStorage.removeItem(TOKEN_KEY);
  else sessionStorage.setItem(TOKEN_KEY, text);
  tokenRequest.value = '';
  token.value = text;
  session.value += 1;
}

/** An error of the API, with the code of `extensions.code`. */
export class ApiError extends Error {
  readonly code: string;
  /** In seconds. */
  readonly retryAfter: number | undefined;

  constructor(message: string, code: string, retryAfter: number | undefined) {
    super(message);
    this.code = code;
    this.retryAfter = retryAfter;
  }
}

interface Problem {
  readonly message: string;
  readonly extensions?: Readonly<Record<string, unknown>>;
}

function errorOf({ message, extensions }: Problem, field: string | null = null): ApiError {
  const seconds = Number(extensions?.['retryAfter'] ?? field ?? Number.NaN);
  return new ApiError(
    message,
    String(extensions?.['code'] ?? ''),
    Number.isNaN(seconds) ? undefined : seconds,
  );
}

/** An operation with the types of its result and variables (scripts/codegen.js). */
export type Operation<Result, Variables> = DocumentTypeDecoration<Result, Variables> & {
  toString(): string;
};

/**
 * Executes a query.
 *
 * @throws ApiError for any error of the result; a rejection of the rate limit only after three of them.
 * @throws DOMException where `stopped` is aborted.
 */
export async function ask<Result, Variables>(
  operation: Operation<Result, Variables>,
  variables: Variables,
  stopped?: AbortSignal,
): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await request(operation, variables, stopped);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      requestToken(error);
      if (error.code !== 'RATE_LIMITED' || attempt === 3) throw error;
      await rest(error.retryAfter ?? 1, stopped);
    }
  }
}

async function request<Result, Variables>(
  operation: Operation<Result, Variables>,
  variables: Variables,
  stopped: AbortSignal | undefined,
): Promise<Result> {
  const response = await fetch(ENDPOINT, {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/json', ...authorization() },
    body: JSON.stringify({ query: operation.toString(), variables }),
    ...(stopped && { signal: stopped }),
  });
  const text = await response.text();
  const retryAfter = response.headers.get('retry-after');
  if (!isJson(response)) throw errorOf({ message: `The service responded with status ${response.status}.` });
  const { data, errors, detail, code } = JSON.parse(text);
  const [problem] = errors ?? [];
  if (problem !== undefined) throw errorOf(problem, retryAfter);
  if (!response.ok) throw errorOf({ message: String(detail), extensions: { code } }, retryAfter);
  return data;
}

function isJson(response: Response): boolean {
  return response.headers.get('content-type')?.includes('json') === true;
}

function authorization(): Record<string, string> {
  return token.value === '' ? {} : { authorization: `Bearer ${token.value}` };
}

function requestToken({ code, message }: ApiError): void {
  if (code === 'UNAUTHENTICATED' || code === 'FORBIDDEN') tokenRequest.value = message;
}

/** Waits, and says until when. */
function rest(seconds: number, stopped: AbortSignal | undefined): Promise<void> {
  const until = Date.now() + seconds * 1000;
  limitedUntil.value = Math.max(limitedUntil.value, until);
  setTimeout(() => {
    if (limitedUntil.value <= until) limitedUntil.value = 0;
  }, seconds * 1000);
  return pause(seconds, stopped);
}

function pause(seconds: number, stopped: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, seconds * 1000);
    stopped?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(stopped.reason);
    });
  });
}

/** What a listener gets. */
export interface Listener<Result> {
  /** @returns the cursor to continue with. */
  onResult(result: Result): string | null;
  /** Whether results arrive at the moment. */
  onState(isOpen: boolean): void;
  /** A stream has begun that does not continue another one: what was recorded before it is to be read now. */
  onBegin(): void;
}

/**
 * Codes of errors that come again each time. What is recorded is not for everyone: what else is asked for tells whether a
 * token is needed, which starts a stream anew.
 */
const FINAL: ReadonlySet<string> = new Set(['UNAUTHENTICATED', 'FORBIDDEN', 'INVALID_DOMAIN']);

/** Longest time between attempts to connect again, in seconds. */
const MAX_PAUSE = 60;

/**
 * Listens to a subscription that continues after the cursor of its variable `after`, until `stopped` is aborted. When a
 * stream ends, it is opened again.
 */
export async function listen<Result, Variables extends { readonly after?: string | null | undefined }>(
  operation: Operation<Result, Variables>,
  variables: Variables,
  { onResult, onState, onBegin }: Listener<Result>,
  stopped: AbortSignal,
): Promise<void> {
  const client = createClient({ url: ENDPOINT, headers: authorization, retryAttempts: 0 });
  stopped.addEventListener('abort', () => client.dispose());
  const query = operation.toString();
  let after = variables.after ?? null;
  let isContinued = after !== null;
  let failures = 0;
  const readStream = async () => {
    for await (const result of client.iterate<Result>({ query, variables: { ...variables, after } })) {
      const data = dataOf(result);
      if (!isContinued) onBegin();
      isContinued = true;
      after = onResult(data) ?? after;
      if (failures > 0) reconnected.value += 1;
      failures = 0;
      onState(true);
    }
  };
  while (!stopped.aborted) {
    const problem = await readStream().catch(problemOf);
    if (stopped.aborted) return;
    onState(false);
    if (FINAL.has(problem?.code ?? '')) return;
    if (problem?.code === 'INVALID_CURSOR') after = null;
    isContinued = after !== null;
    failures += 1;
    await pause(problem?.retryAfter ?? Math.min(MAX_PAUSE, 2 ** failures), stopped).catch(() => {});
  }
}

function dataOf<Result>({ data, errors }: ExecutionResult<Result, unknown>): Result {
  const [error] = errors ?? [];
  if (error !== undefined) throw errorOf(error);
  if (data === undefined || data === null) throw new Error('An event has neither data nor errors.');
  return data;
}

async function problemOf(error: unknown): Promise<ApiError> {
  if (error instanceof ApiError) return error;
  if (error instanceof NetworkError && error.response instanceof Response && isJson(error.response)) {
    const body = await error.response.json().catch(() => ({}));
    const [problem] = body.errors ?? [];
    if (problem !== undefined) return errorOf(problem, error.response.headers.get('retry-after'));
  }
  return new ApiError(error instanceof Error ? error.message : String(error), '', undefined);
}
