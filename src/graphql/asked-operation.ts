import type { Request } from 'express';
import type { AskedOperation } from './limits/query-limits.js';
import type { PersistedOperations } from './persisted/persisted-operations.js';
import { isRecord, persistedId } from './plain-request.js';

/**
 * What a request asks for, however it is sent. It is read with indulgence: Apollo Server, which reads it
 * after this, refuses what is not in order.
 *
 * @returns Undefined where there is no document, and where the one that is named is not known.
 */
export function askedOperation(request: Request, persisted: PersistedOperations): AskedOperation | undefined {
  const { query, operationName, variables, extensions } = parametersOf(request);
  const id = persistedId(extensions);
  const source = typeof query === 'string' ? query : id === undefined ? undefined : persisted.find(id);
  if (source === undefined) return undefined;
  return {
    source,
    operationName: typeof operationName === 'string' ? operationName : null,
    variables: isRecord(variables) ? variables : {},
  };
}

/** The parameters of GraphQL over HTTP (section 5), of the body or of the URL. */
function parametersOf({ method, body, url }: Request): Readonly<Record<string, unknown>> {
  if (method === 'POST') return isRecord(body) ? body : {};
  const parameters = new URLSearchParams(searchOf(url));
  return {
    query: parameters.get('query') ?? undefined,
    operationName: parameters.get('operationName'),
    variables: parseJson(parameters.get('variables')),
    extensions: parseJson(parameters.get('extensions')),
  };
}

/** The query of a URL, with its question mark; empty where there is none. */
export function searchOf(url: string): string {
  return /\?.*$/s.exec(url)?.[0] ?? '';
}

function parseJson(text: string | null): unknown {
  try {
    return text === null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
