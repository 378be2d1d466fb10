import type { HttpAnswer } from './http-answer.js';

/** What a refusal has besides its status, code and message. */
export interface RefusalDetails {
  readonly mediaType?: string | undefined;
  /** The `extensions` of the response. */
  readonly extensions?: Readonly<Record<string, unknown>> | undefined;
}

/** A GraphQL response with one error and no data, for a request that is not looked at any further. */
export function refusal(
  status: number,
  code: string,
  message: string,
  { mediaType = 'application/json', extensions }: RefusalDetails = {},
): HttpAnswer {
  return {
    status,
    headers: new Map([['content-type', `${mediaType}; charset=utf-8`]]),
    body: `${JSON.stringify({ errors: [{ message, extensions: { code } }], extensions })}\n`,
  };
}
