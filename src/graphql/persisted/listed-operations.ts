import type { GraphQLSchema } from 'graphql';
import { OperationError } from '../../model/errors.js';
import type { QueryLimits } from '../limits/query-limits.js';
import { parseValid } from '../stored-operation.js';
import { KEY_PREFIX, type PersistedOperations } from './persisted-operations.js';

/** The operations of a list, by their ids, and no others. */
export class ListedOperations implements PersistedOperations {
  readonly #sources: ReadonlyMap<string, string>;
  readonly #allowed: ReadonlySet<string>;

  constructor(sources: ReadonlyMap<string, string>) {
    this.#sources = sources;
    this.#allowed = new Set(sources.values());
  }

  find(id: string): string | undefined {
    return this.#sources.get(id);
  }

  allows(source: string): boolean {
    return this.#allowed.has(source);
  }

  async get(key: string): Promise<string | undefined> {
    return this.#sources.get(key.slice(KEY_PREFIX.length));
  }

  /** What is not in the list is not taken up. */
  async set(): Promise<void> {}

  async delete(): Promise<boolean> {
    return false;
  }
}

/**
 * Holds a list of operations to what the service can answer.
 *
 * @param sources Documents by their ids.
 * @throws OperationError, one line, for the first one that the schema or a limit does not allow.
 */
export function requireAnswerable(
  sources: ReadonlyMap<string, string>,
  schema: GraphQLSchema,
  limits: QueryLimits,
): void {
  for (const [id, source] of sources) {
    try {
      limits.examined(source);
      parseValid(schema, source);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new OperationError(`PERSISTED_ONLY: the operation ${id} cannot be answered. ${reason}`);
    }
  }
}
