import type { PersistedOperations } from './persisted/persisted-operations.js';

/** A GraphQL request without anything out of the ordinary (GraphQL over HTTP, section 5.1). */
export interface PlainRequest {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly operationName: string | null;
}

/**
 * The plain request that a body of JSON is, or undefined for any other.
 *
 * @param persisted Where the document is that a request names instead of sending it.
 */
export function plainRequest(body: unknown, persisted: PersistedOperations): PlainRequest | undefined {
  if (!isRecord(body)) return undefined;
  const { variables = null, operationName = null } = body;
  const query = plainQuery(body, persisted);
  if (query === undefined) return undefined;
  if (variables !== null && !isRecord(variables)) return undefined;
  if (operationName !== null && typeof operationName !== 'string') return undefined;
  return { query, variables: variables ?? {}, operationName };
}

/** The document that is sent, or that is named; one with its SHA-256 beside it is registered by Apollo Server. */
function plainQuery(
  { query, extensions = null }: Record<string, unknown>,
  persisted: PersistedOperations,
): string | undefined {
  if (extensions !== null && !isRecord(extensions)) return undefined;
  const id = persistedId(extensions);
  if (id !== undefined) return query === undefined ? persisted.find(id) : undefined;
  const isPlain = typeof query === 'string' && extensions?.['persistedQuery'] === undefined;
  return isPlain ? query : undefined;
}

/** The id or SHA-256 by which a request names a document; undefined where it names none. */
export function persistedId(extensions: unknown): string | undefined {
  const named = isRecord(extensions) ? extensions['persistedQuery'] : undefined;
  if (!isRecord(named) || named['version'] !== 1) return undefined;
  const id = named['sha256Hash'];
  return typeof id === 'string' ? id : undefined;
}

/** Whether a value of JSON is an object. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
