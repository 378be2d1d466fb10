import type { HttpAnswer } from './http-answer.js';

/** What GraphQL over HTTP reads at most. */
export const BODY_LIMIT = '512kb';

interface Refusal {
  readonly code: string;
  readonly message: string;
}

const REFUSALS: ReadonlyMap<unknown, Refusal> = new Map([
  [
    400,
    { code: 'BAD_REQUEST', message: 'The body is not a JSON object. Send {"query": "…", "variables": {…}}.' },
  ],
  [
    413,
    { code: 'PAYLOAD_TOO_LARGE', message: 'The body is larger than 512 kB. Ask for less in one request.' },
  ],
  [
    415,
    {
      code: 'UNSUPPORTED_MEDIA_TYPE',
      message: 'The body is in a character set or an encoding that is not understood. Send JSON in UTF-8.',
    },
  ],
]);

/**
 * The answer to a request whose body could not be read: a GraphQL response with one error. Undefined where
 * the client is not to blame.
 *
 * @param error As body-parser gives it, with the HTTP status in `status`.
 */
export function refusalOfBody(error: unknown): HttpAnswer | undefined {
  const status: unknown = error instanceof Error ? Reflect.get(error, 'status') : undefined;
  const refusal = REFUSALS.get(status);
  if (typeof status !== 'number' || refusal === undefined) return undefined;
  const { code, message } = refusal;
  return {
    status,
    headers: new Map([['content-type', 'application/json; charset=utf-8']]),
    body: `${JSON.stringify({ errors: [{ message, extensions: { code } }] })}\n`,
  };
}
