import type { Request } from 'express';
import type { HttpAnswer } from './http-answer.js';
import { mediaTypeFor } from './media-type.js';
import { refusal } from './refusal.js';

/** What GraphQL over HTTP reads at most. */
export const BODY_LIMIT = '512kb';

/**
 * The answer to a request whose body could not be read; undefined where the client is not to blame.
 *
 * @param error As body-parser gives it, with the HTTP status in `status`.
 */
export function refusalOfBody(request: Request, error: unknown): HttpAnswer | undefined {
  const mediaType = mediaTypeFor(request);
  switch (error instanceof Error ? Reflect.get(error, 'status') : undefined) {
    case 400:
      return refusal(400, 'BAD_REQUEST', 'The body is not JSON. Send {"query": "…", "variables": {…}}.', {
        mediaType,
      });
    case 413:
      return refusal(
        413,
        'PAYLOAD_TOO_LARGE',
        'The body is larger than 512 kB. Ask for less in one request.',
        { mediaType },
      );
    case 415:
      return refusal(
        415,
        'UNSUPPORTED_MEDIA_TYPE',
        'The body is not in an encoding that is read. Send it in UTF-8, as it is or in gzip, deflate or br.',
        { mediaType },
      );
    default:
      return undefined;
  }
}
