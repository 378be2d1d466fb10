import type { HttpAnswer } from './http-answer.js';

/** A GraphQL response with one error and no data, for a request that is not looked at any further. */
export function refusal(status: number, code: string, message: string): HttpAnswer {
  return {
    status,
    headers: new Map([['content-type', 'application/json; charset=utf-8']]),
    body: `${JSON.stringify({ errors: [{ message, extensions: { code } }] })}\n`,
  };
}
