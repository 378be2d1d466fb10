import { STATUS_OF_CODE } from '../problem.js';
import { type HeaderFieldName, headersOf } from './header-fields.js';
import { closedObject, type Schema, schemaReference, text } from './schema.js';

/** The statuses of refusals and failures that an operation can answer with. */
export type ProblemStatus = 400 | 401 | 403 | 404 | 413 | 429 | 431 | 500 | 503;

const MEANING_OF_STATUS: Readonly<Record<ProblemStatus, string>> = {
  400: 'The name is not that of a domain, or the request is not valid HTTP; `detail` says why.',
  401: 'No access token where one is needed, or one that is not valid: malformed, unknown, expired or revoked.',
  403: 'The access token lacks the scope of the operation.',
  404: 'Nothing is recorded of the domain.',
  413: 'The request has a body of more than 512 kB. None is needed.',
  429: 'The budget of requests is used up.',
  431: 'The header fields of the request, with its path, are larger than 16 KiB, or more than 2000.',
  500: 'The service has failed. Its log has the failure under the `X-Request-Id` of the response.',
  503: 'The database does not answer, or too many large histories are being answered.',
};

const FIELDS_OF_STATUS: Readonly<Record<ProblemStatus, readonly HeaderFieldName[]>> = {
  400: [],
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  404: [],
  413: [],
  429: ['Retry-After', 'RateLimit', 'RateLimit-Policy'],
  431: [],
  500: [],
  503: ['Retry-After'],
};

/** The codes that an operation under `/domain/{domain}` has for a status that has several. */
const CODES_OF_STATUS: Partial<Record<ProblemStatus, readonly string[]>> = {
  400: ['INVALID_DOMAIN', 'INVALID_PARAMETER'],
  404: ['DOMAIN_NOT_FOUND'],
};

/** The schema of every error's body (RFC 9457). */
export const PROBLEM_SCHEMA: Schema = closedObject('A problem (RFC 9457).', {
  type: { const: 'about:blank', description: 'The status and the code say all.' },
  title: text('The phrase of the status.'),
  status: { type: 'integer', minimum: 400, maximum: 599, description: 'The status of the response.' },
  detail: text('What is wrong, and what to do about it, for people.'),
  code: { enum: Object.keys(STATUS_OF_CODE), description: 'What is wrong, for programs. It never changes.' },
});

/**
 * The response of a status.
 *
 * @param examples Bodies by the name of their example.
 */
export function problemResponse(
  status: ProblemStatus,
  examples: Readonly<Record<string, unknown>>,
  always: readonly HeaderFieldName[],
): object {
  const content = { schema: schemaOf(status), examples: examplesOf(examples) };
  return {
    description: MEANING_OF_STATUS[status],
    headers: headersOf([...always, 'Vary', 'Cache-Control', ...FIELDS_OF_STATUS[status]]),
    content: {
      'application/json': content,
      // Where the header fields are not read, nobody knows what the client accepts.
      ...(status === 431 ? {} : { 'application/problem+json': content }),
    },
  };
}

function schemaOf(status: ProblemStatus): Schema {
  const codes =
    CODES_OF_STATUS[status] ??
    Object.entries(STATUS_OF_CODE).flatMap(([code, [its]]) => (its === status ? [code] : []));
  return {
    ...schemaReference('Problem'),
    properties: { status: { const: status }, code: { enum: codes } },
  };
}

/** Examples as a media type has them. */
export function examplesOf(bodies: Readonly<Record<string, unknown>>): Readonly<Record<string, object>> {
  return Object.fromEntries(Object.entries(bodies).map(([name, value]) => [name, { value }]));
}
