import type { IncomingMessage, ServerResponse } from 'node:http';
import { methodNotAllowed } from '../model/errors.js';
import { sendBody } from '../rest/v1/problem.js';
import { DEFAULT_FIELDS, REQUEST_ID_FIELD, requestIdOf } from './response-fields.js';

/**
 * Answers a request that is for it; undefined for others. Endpoints come before everything else: they are
 * neither authenticated, limited nor logged.
 */
export type Endpoint = (request: IncomingMessage) => Promise<TextResponse> | undefined;

export interface TextResponse {
  readonly status: number;
  /** JSON, if its fields do not say otherwise. */
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** @returns whether the request is for the endpoint, also by a method that is rejected. */
export function answerAt(endpoint: Endpoint, request: IncomingMessage, response: ServerResponse): boolean {
  const answer = endpoint(request);
  void answer?.then((answered) => {
    if (response.headersSent) return;
    const isAllowed = request.method === 'GET' || request.method === 'HEAD';
    const { status, headers, text } = isAllowed ? answered : METHOD_NOT_ALLOWED;
    const fields = { ...DEFAULT_FIELDS, [REQUEST_ID_FIELD]: requestIdOf(request.headers) };
    const json = { 'content-type': 'application/json; charset=utf-8' };
    sendBody(response, status, { ...fields, ...json, ...headers }, text);
  });
  return answer !== undefined;
}

export async function nothingHere(): Promise<TextResponse> {
  return { status: 404, text: rejected('There is nothing at this path: use /livez, /readyz or /metrics.') };
}

const METHOD_NOT_ALLOWED: TextResponse = {
  status: 405,
  headers: { allow: 'GET, HEAD' },
  text: rejected(methodNotAllowed('GET or HEAD')),
};

function rejected(reason: string): string {
  return `${JSON.stringify({ status: 'rejected', reason })}\n`;
}
