import { type DocumentNode, type GraphQLSchema, Kind, type OperationDefinitionNode, visit } from 'graphql';
import { BoundedCache } from '../model/bounded-cache.js';
import type { Cost } from './limits/cost.js';
import type { QueryLimits } from './limits/query-limits.js';
import { compileOperation, parseValid, type StoredOperation } from './stored-operation.js';

/** A client's operation that is compiled. */
export interface FrequentOperation extends StoredOperation {
  /** The name that the document gives it, if any. */
  readonly name: string | undefined;
  readonly cost: Cost;
}

// Compiling takes as long as about thirty executions without it: a client that sends new documents only
// to have them compiled has to pay as much for it.
const OCCURRENCES_BEFORE_COMPILING = 32;
const LONGEST_SOURCE = 8_000;
const MOST_SELECTIONS = 150;
const MOST_COUNTED = 500;
const MOST_COMPILED = 50;

/**
 * The operations that clients send again and again, compiled: to execute them field by field takes over
 * ten times as long. Only small documents are taken, with one query and without directives and
 * introspection, so that the time and the memory that this takes are bounded.
 */
export class FrequentOperations {
  readonly #schema: GraphQLSchema;
  readonly #limits: QueryLimits;
  readonly #occurrences = new BoundedCache<string, number>(MOST_COUNTED);
  readonly #compiled = new BoundedCache<string, FrequentOperation>(MOST_COMPILED);

  /** @param limits Where documents are examined before they are validated. */
  constructor(schema: GraphQLSchema, limits: QueryLimits) {
    this.#schema = schema;
    this.#limits = limits;
  }

  /** The operation of a document that has come often. */
  known(source: string): FrequentOperation | undefined {
    return this.#compiled.get(source);
  }

  /** The same. For any other document this occurrence is counted. */
  find(source: string): FrequentOperation | undefined {
    return this.known(source) ?? (source.length > LONGEST_SOURCE ? undefined : this.#count(source));
  }

  #count(source: string): FrequentOperation | undefined {
    const occurrences = (this.#occurrences.get(source) ?? 0) + 1;
    this.#occurrences.set(source, occurrences);
    // With more it has been found unfit.
    if (occurrences !== OCCURRENCES_BEFORE_COMPILING) return undefined;
    const operation = compileFit(this.#schema, this.#limits, source);
    if (operation !== undefined) this.#compiled.set(source, operation);
    return operation;
  }
}

function compileFit(
  schema: GraphQLSchema,
  limits: QueryLimits,
  source: string,
): FrequentOperation | undefined {
  try {
    const { selections, costs } = limits.examined(source);
    const [cost] = costs.values();
    if (cost === undefined || selections > MOST_SELECTIONS) return undefined;
    const document = parseValid(schema, source);
    const query = onlyQuery(document);
    if (query === undefined || hasWhatIsNotCompiled(document)) return undefined;
    return { ...compileOperation(schema, document), name: query.name?.value, cost };
  } catch {
    // What is wrong with the document is told by the way that all other documents go.
    return undefined;
  }
}

function onlyQuery(document: DocumentNode): OperationDefinitionNode | undefined {
  const operations = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION);
  const [operation] = operations;
  const isQuery = operation?.kind === Kind.OPERATION_DEFINITION && operation.operation === 'query';
  return isQuery && operations.length === 1 ? operation : undefined;
}

/**
 * What the compiler takes otherwise than graphql-js: directives, introspection, defaults of variables, and
 * aliases and variables named `__proto__`.
 */
function hasWhatIsNotCompiled(document: DocumentNode): boolean {
  let found = false;
  visit(document, {
    Directive: () => {
      found = true;
    },
    Field: ({ name, alias }) => {
      found ||= name.value.startsWith('__') && name.value !== '__typename';
      found ||= alias?.value === '__proto__';
    },
    VariableDefinition: ({ variable, defaultValue }) => {
      found ||= defaultValue !== undefined || variable.name.value === '__proto__';
    },
  });
  return found;
}
