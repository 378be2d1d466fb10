/** A GraphQL request without anything out of the ordinary (GraphQL over HTTP, section 5.1). */
export interface PlainRequest {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly operationName: string | null;
}

/** The plain request that a body of JSON is, or undefined for any other. */
export function plainRequest(body: unknown): PlainRequest | undefined {
  if (!isRecord(body)) return undefined;
  const { query, variables = null, operationName = null, extensions = null } = body;
  if (typeof query !== 'string') return undefined;
  if (variables !== null && !isRecord(variables)) return undefined;
  if (operationName !== null && typeof operationName !== 'string') return undefined;
  if (extensions !== null && !(isRecord(extensions) && extensions['persistedQuery'] === undefined)) {
    return undefined;
  }
  return { query, variables: variables ?? {}, operationName };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
