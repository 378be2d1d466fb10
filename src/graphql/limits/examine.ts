import {
  type DocumentNode,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  parse,
  valueFromASTUntyped,
} from 'graphql';
import { type Cost, costWith, type Variables } from './cost.js';
import { MOST_ALIASES, MOST_DEPTH, MOST_ROOT_FIELDS, MOST_SELECTIONS, MOST_TOKENS } from './limits.js';
import { costOfObject, type Measure } from './measure.js';
import { DocumentMeasure } from './measure-document.js';
import { refuse } from './refuse.js';
import { requireFewComparisons } from './require-few-comparisons.js';
import { requireModestText } from './require-modest-text.js';

/** What is known of a document that is within the limits. */
export interface Examination {
  /** What each operation costs, by its name; null is that of the one without a name. */
  readonly costs: ReadonlyMap<string | null, Cost>;
  /** How many selections all operations have, those of a fragment counted wherever it is spread. */
  readonly selections: number;
}

/**
 * Holds a document within the limits, before it is validated: validation takes long for some documents. The
 * time that this takes is bounded.
 *
 * @returns No operations for what is no GraphQL: the parser tells what is wrong with it.
 * @throws QueryTooComplexError
 */
export function examine(schema: GraphQLSchema, text: string): Examination {
  requireModestText(text);
  const document = parseIfPossible(text);
  return document === undefined ? { costs: new Map(), selections: 0 } : examineDocument(schema, document);
}

function parseIfPossible(text: string): DocumentNode | undefined {
  try {
    return parse(text, { maxTokens: MOST_TOKENS, noLocation: true });
  } catch {
    return undefined;
  }
}

function examineDocument(schema: GraphQLSchema, { definitions }: DocumentNode): Examination {
  const operations = definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
  const fragments = definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION);
  const measure = new DocumentMeasure(schema, fragments);
  const costs = new Map<string | null, Cost>();
  const selections = requireFewSelections(
    operations.map((operation) => {
      const measured = requireModest(measure.operation(operation));
      costs.set(operation.name?.value ?? null, withDefaults(costOfObject(measured), operation));
      return measured;
    }),
  );
  // Validation looks into those that no operation spreads, too.
  requireFewSelections(fragments.map((fragment) => measure.fragment(fragment)));
  requireFewComparisons(operations, fragments);
  return { costs, selections };
}

function requireFewSelections(measures: readonly Measure[]): number {
  const sum = measures.reduce((before, { selections }) => before + selections, 0);
  if (sum <= MOST_SELECTIONS) return sum;
  return refuse(`The document has more than ${MOST_SELECTIONS} selections, fragments included.`);
}

function requireModest(operation: Measure): Measure {
  const { aliases, fields, depth } = operation;
  if (depth > MOST_DEPTH) refuse(`The query asks for fields more than ${MOST_DEPTH} levels deep.`);
  if (aliases > MOST_ALIASES) refuse(`The query has more than ${MOST_ALIASES} aliases, fragments included.`);
  if (fields > MOST_ROOT_FIELDS) refuse(`The query has more than ${MOST_ROOT_FIELDS} fields at its root.`);
  return operation;
}

/** A cost that knows what the operation's variables are where a request does not say it. */
function withDefaults(cost: Cost, { variableDefinitions = [] }: OperationDefinitionNode): Cost {
  if (typeof cost === 'number') return cost;
  // One with a prototype would take the default of a variable named __proto__ for another prototype.
  const defaults: Record<string, unknown> = Object.create(null);
  for (const { variable, defaultValue } of variableDefinitions) {
    if (defaultValue !== undefined) defaults[variable.name.value] = valueFromASTUntyped(defaultValue);
  }
  if (Object.keys(defaults).length === 0) return cost;
  return (variables: Variables) => costWith(cost, { ...defaults, ...variables });
}
