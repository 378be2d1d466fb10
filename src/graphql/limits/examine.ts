import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
  valueFromASTUntyped,
} from 'graphql';
import type { DocumentWork } from '../../resolvers/request-budget.js';
import { type Fragment, fieldsByName } from '../../resolvers/selection-size.js';
import { type Cost, costWith, type Variables } from './cost.js';
import {
  checkText,
  MOST_ALIASES,
  MOST_COMPARISONS,
  MOST_DEPTH,
  MOST_ROOT_FIELDS,
  MOST_SELECTIONS,
  MOST_VARIABLE_VALUES,
  tooComplex,
} from './limits.js';
import { costOfObject, DocumentMeasure, type Measure } from './measure.js';

/** A document that is within the limits. */
export interface Examination {
  readonly document: DocumentNode;
  /** The cost of each operation by its name; null is the name of one without a name. */
  readonly costs: ReadonlyMap<string | null, Cost>;
  /** How many selections all operations have, those of a fragment counted wherever it is spread. */
  readonly selections: number;
  readonly work: DocumentWork;
}

/**
 * Parses a document and checks it against the limits. The time that this takes is bounded, which that of validation
 * is not for documents beyond them.
 *
 * @throws GraphQLError where the text is not GraphQL; QueryTooComplexError beyond a limit.
 */
export function examine(schema: GraphQLSchema, text: string): Examination {
  checkText(text);
  const document = parse(text);
  const { definitions } = document;
  const operations = definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
  const fragments = definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION);
  const measure = new DocumentMeasure(schema, fragments);
  const costs = new Map<string | null, Cost>();
  const selections = sumOfSelections(
    operations.map((operation) => {
      const measured = measure.operation(operation);
      checkOperation(measured);
      costs.set(operation.name?.value ?? null, withDefaults(costOfObject(measured), operation));
      return measured;
    }),
  );
  // Validation visits fragments that no operation spreads, too.
  sumOfSelections(fragments.map((fragment) => measure.fragment(fragment)));
  const comparisons = countComparisons(operations, fragments);
  return { document, costs, selections, work: { tokens: document.tokenCount ?? 0, comparisons } };
}

function sumOfSelections(measures: readonly Measure[]): number {
  const sum = measures.reduce((before, { selections }) => before + selections, 0);
  if (sum <= MOST_SELECTIONS) return sum;
  return tooComplex(`The document has more than ${MOST_SELECTIONS} selections, fragments included.`);
}

function checkOperation({ aliases, fields, depth }: Measure): void {
  if (depth > MOST_DEPTH) tooComplex(`The query has fields more than ${MOST_DEPTH} levels deep.`);
  if (aliases > MOST_ALIASES)
    tooComplex(`The query has more than ${MOST_ALIASES} aliases, fragments included.`);
  if (fields > MOST_ROOT_FIELDS)
    tooComplex(`The query has more than ${MOST_ROOT_FIELDS} fields at its root.`);
}

/** A cost that uses the operation's defaults for variables that a request does not give. */
function withDefaults(cost: Cost, { variableDefinitions = [] }: OperationDefinitionNode): Cost {
  if (typeof cost === 'number') return cost;
  // With a prototype, the default of a variable named __proto__ would set it.
  const defaults: Record<string, unknown> = Object.create(null);
  for (const { variable, defaultValue } of variableDefinitions) {
    if (defaultValue !== undefined) defaults[variable.name.value] = valueFromASTUntyped(defaultValue);
  }
  if (Object.keys(defaults).length === 0) return cost;
  return (variables: Variables) => costWith(cost, { ...defaults, ...variables });
}

/**
 * Limits the comparisons that validation makes: of all fields of one name in one place with each other (GraphQL,
 * section 5.3.2). graphql-js has a limit of its own, which lets a document take a second.
 *
 * @param operations No fragment spreads itself, and the selections with all fragments spread are limited.
 * @returns how many there are.
 * @throws QueryTooComplexError
 */
function countComparisons(
  operations: readonly OperationDefinitionNode[],
  definitions: readonly FragmentDefinitionNode[],
): number {
  const fragments = new Map(definitions.map((fragment) => [fragment.name.value, fragment]));
  const setOf = (node: Fragment) =>
    (node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : node)?.selectionSet;
  let comparisons = 0;
  const compare = (sets: readonly SelectionSetNode[]): void => {
    for (const same of fieldsByName(sets, setOf).values()) {
      comparisons += (same.length * (same.length - 1)) / 2;
      if (comparisons > MOST_COMPARISONS) {
        tooComplex(
          `The document selects fields of one name in one place too many times: ${MOST_COMPARISONS} pairs are allowed.`,
        );
      }
      const inside = same.flatMap(({ selectionSet }) => selectionSet ?? []);
      if (inside.length > 0) compare(inside);
    }
  };
  for (const { selectionSet } of [...operations, ...definitions]) compare([selectionSet]);
  return comparisons;
}

/**
 * The estimated cost of a request.
 *
 * @param operationName Null: the document's only operation.
 * @returns undefined where the document has no such operation.
 * @throws QueryTooComplexError for too many values in the variables, or a cost of more than `maxCost`.
 */
export function costOf(
  { costs }: Pick<Examination, 'costs'>,
  operationName: string | null,
  variables: Variables,
  maxCost: number,
): number | undefined {
  if (valuesLeft(variables, MOST_VARIABLE_VALUES) < 0) {
    tooComplex(`The variables have more than ${MOST_VARIABLE_VALUES} values.`);
  }
  const [only] = costs.values();
  const found = operationName !== null ? costs.get(operationName) : costs.size === 1 ? only : undefined;
  if (found === undefined) return undefined;
  const cost = costWith(found, variables);
  if (cost > maxCost) tooComplex(`The estimated cost of the query is ${cost}; ${maxCost} is allowed.`, cost);
  return cost;
}

/** What is left of `before` values after those in a value; negative as soon as they are too many. */
function valuesLeft(value: unknown, before: number): number {
  if (typeof value !== 'object' || value === null) return before - 1;
  let left = before;
  for (const member of Object.values(value)) {
    left = valuesLeft(member, left);
    if (left < 0) break;
  }
  return left - 1;
}
