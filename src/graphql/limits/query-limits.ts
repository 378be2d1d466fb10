import type { GraphQLSchema } from 'graphql';
import { SizedCache } from '../../model/sized-cache.js';
import { type Cost, costWith, type Variables } from './cost.js';
import { type Examination, examine } from './examine.js';
import { MOST_VARIABLE_VALUES } from './limits.js';
import { QueryTooComplexError, refuse } from './refuse.js';

/** What one request asks for: an operation of a document. */
export interface AskedOperation {
  readonly source: string;
  /** Null: the only one. */
  readonly operationName: string | null;
  readonly variables: Variables;
}

/** The characters of the documents whose examination is remembered, and what one takes besides, likewise. */
const REMEMBERED = 2_000_000;
const REMEMBERED_BESIDES = 500;

/** The limits on what one request may ask for. */
export class QueryLimits {
  /** What one request may cost. */
  readonly maxCost: number;
  readonly #schema: GraphQLSchema;
  readonly #examined = new SizedCache<string, Examination | QueryTooComplexError>(REMEMBERED);

  constructor(schema: GraphQLSchema, maxCost: number) {
    this.#schema = schema;
    this.maxCost = maxCost;
  }

  /**
   * What a request costs.
   *
   * @returns Undefined for a document without the operation, and for one that is no GraphQL.
   * @throws QueryTooComplexError for more than a request may ask for.
   */
  costOf({ source, operationName, variables }: AskedOperation): number | undefined {
    if (!hasFewValues(variables)) refuse(`The variables have more than ${MOST_VARIABLE_VALUES} values.`);
    const cost = costNamed(this.examined(source), operationName);
    if (cost === undefined) return undefined;
    return this.requireAtMost(costWith(cost, variables));
  }

  /** The same of a document that was examined, however much it is; undefined for one beyond another limit, too. */
  estimate({ source, operationName, variables }: AskedOperation): number | undefined {
    const known = this.#examined.get(source);
    if (known === undefined || known instanceof QueryTooComplexError || !hasFewValues(variables))
      return undefined;
    const cost = costNamed(known, operationName);
    return cost === undefined ? undefined : costWith(cost, variables);
  }

  /** Gives the cost back. @throws QueryTooComplexError for more than a request may cost. */
  requireAtMost(cost: number): number {
    if (cost <= this.maxCost) return cost;
    return refuse(`The estimated cost of the query is ${cost}; ${this.maxCost} is allowed.`, cost);
  }

  /** What is known of a document. @throws QueryTooComplexError for a document beyond a limit. */
  examined(source: string): Examination {
    const known = this.#examined.get(source);
    const examination = known ?? examineOrRefuse(this.#schema, source);
    if (known === undefined) {
      this.#examined.set(source, examination, source.length + REMEMBERED_BESIDES);
    }
    if (examination instanceof QueryTooComplexError) throw examination;
    return examination;
  }
}

/** Whether variables are within their limit: looked at before they are coerced. */
export function hasFewValues(variables: Variables): boolean {
  return valuesLeft(variables, MOST_VARIABLE_VALUES) >= 0;
}

/** What is left of so many values after those in a value; negative as soon as it is too little. */
function valuesLeft(value: unknown, before: number): number {
  if (typeof value !== 'object' || value === null) return before - 1;
  let left = before;
  for (const member of Object.values(value)) {
    left = valuesLeft(member, left);
    if (left < 0) break;
  }
  return left - 1;
}

function examineOrRefuse(schema: GraphQLSchema, source: string): Examination | QueryTooComplexError {
  try {
    return examine(schema, source);
  } catch (error) {
    if (error instanceof QueryTooComplexError) return error;
    throw error;
  }
}

function costNamed({ costs }: Examination, name: string | null): Cost | undefined {
  if (name !== null) return costs.get(name);
  const [cost] = costs.values();
  return costs.size === 1 ? cost : undefined;
}
