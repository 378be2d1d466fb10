import type { HttpAnswer } from './http-answer.js';
import { JSON_RESPONSE } from './media-type.js';

/** What a refusal has besides its status, code and message. */
export interface RefusalDetails {
  /** The value of `Content-Type`; absent: JSON. */
  readonly mediaType?: string | undefined;
  /** The `extensions` of the response. */
  readonly extensions?: Readonly<Record<string, unknown>> | undefined;
}

/** A GraphQL response with one error and no data, for a request that is not looked at any further. */
export function refusal(
  status: number,
  code: string,
  message: string,
  { mediaType = JSON_RESPONSE, extensions }: RefusalDetails = {},
): HttpAnswer {
  return {
    status,
    headers: new Map([['content-type', mediaType]]),
    body: `${JSON.stringify({ errors: [{ message, extensions: { code } }], extensions })}\n`,
  };
}
