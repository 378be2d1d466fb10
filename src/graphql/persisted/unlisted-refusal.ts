import type { Request } from 'express';
import { askedOperation } from '../asked-operation.js';
import type { HttpAnswer } from '../http-answer.js';
import { mediaTypeFor } from '../media-type.js';
import { refusal } from '../refusal.js';
import { ListedOperations } from './listed-operations.js';
import type { PersistedOperations } from './persisted-operations.js';

/** The answer to a request for an operation that is not in the list, where there is one; else undefined. */
export function refusalOfUnlisted(request: Request, persisted: PersistedOperations): HttpAnswer | undefined {
  if (!(persisted instanceof ListedOperations)) return undefined;
  const asked = askedOperation(request, persisted);
  if (asked !== undefined && persisted.allows(asked.source)) return undefined;
  const message =
    'Only the operations of a list are answered, and this is none of them. Send the id or the very text of one.';
  return refusal(400, 'PERSISTED_QUERY_NOT_IN_LIST', message, { mediaType: mediaTypeFor(request) });
}
