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

/** Without the sentence that sums several reasons up. */
function reasonOf(error: unknown): string {
  const reasons: unknown[] = error instanceof AggregateError ? error.errors : [error];
  return reasons.map((reason) => (reason instanceof Error ? reason.message : String(reason))).join(' ');
}

/** What an operation with variables costs is known only with their values. */
function requireCheap(limits: QueryLimits, source: string): void {
  for (const cost of limits.examined(source).costs.values()) {
    if (typeof cost === 'number') limits.requireAtMost(cost);
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
      requireCheap(limits, source);
      parseValid(schema, source);
    } catch (error) {
      throw new OperationError(
        `PERSISTED_ONLY: the operation ${id} of the file cannot be answered: ${reasonOf(error)}`,
      );
    }
  }
}
