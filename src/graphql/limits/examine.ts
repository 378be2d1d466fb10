import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
  valueFromASTUntyped,
} from 'graphql';
import type { DocumentWork } from '../../resolvers/request-budget.js';
import { type Cost, costWith, plus, type Variables } from './cost.js';
import { type Fragments, fieldsIn, type Introspection, introspectionOf } from './introspection.js';
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
  /** What each operation selects of the schema, by the same names, where it does. */
  readonly introspections: ReadonlyMap<string | null, Introspection>;
  /** How many selections all operations have, those of a fragment counted wherever it is spread. */
  readonly selections: number;
  /** How many a compiled operation has: also one for each type that a selected object may have. */
  readonly selectionsByType: number;
  readonly work: DocumentWork;
}

/**
 * Parses a document, without locations (see locationsIn), and checks it against the limits. The time that this takes is bounded, which that of validation
 * is not for documents beyond them.
 *
 * @yields where what follows is done in a turn of its own, if the text is long.
 * @throws GraphQLError where the text is not GraphQL; QueryTooComplexError beyond a limit.
 */
export function* examine(schema: GraphQLSchema, text: string): Generator<undefined, Examination> {
  checkText(text);
  yield;
  const document = parse(text, { noLocation: true });
  const { definitions } = document;
  const operations = definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
  const fragments = definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION);
  const measure = new DocumentMeasure(schema, fragments);
  const measured = operations.map((operation) => [operation, measure.operation(operation)] as const);
  for (const [, each] of measured) checkOperation(each);
  const selections = sumOfSelections(measured.map(([, each]) => each));
  // Validation visits fragments that no operation spreads, too.
  sumOfSelections(fragments.map((fragment) => measure.fragment(fragment)));
  const fragmentsByName = new Map(fragments.map((fragment) => [fragment.name.value, fragment]));
  const costs = new Map<string | null, Cost>();
  const introspections = new Map<string | null, Introspection>();
  for (const [operation, each] of measured) {
    const name = operation.name?.value ?? null;
    const introspection = introspectionOf(schema, operation, fragmentsByName);
    if (introspection !== undefined) introspections.set(name, introspection);
    costs.set(name, withDefaults(plus(costOfObject(each), introspection?.values ?? 0), operation));
  }
  const comparisons = countComparisons([...operations, ...fragments], fragmentsByName);
  return {
    document,
    costs,
    introspections,
    selections,
    selectionsByType: measured.reduce((sum, [, each]) => sum + each.selectionsByType, 0),
    work: { tokens: document.tokenCount ?? 0, comparisons },
  };
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
 * @param definitions No fragment spreads itself, and the selections with all fragments spread are limited.
 * @returns how many there are.
 * @throws QueryTooComplexError
 */
function countComparisons(
  definitions: readonly (OperationDefinitionNode | FragmentDefinitionNode)[],
  fragments: Fragments,
): number {
  let comparisons = 0;
  const compare = (sets: readonly SelectionSetNode[]): void => {
    const fields = new Map<string, FieldNode[]>();
    for (const node of sets.flatMap((set) => [...fieldsIn(set, fragments)])) {
      const name = (node.alias ?? node.name).value;
      const same = fields.get(name);
      if (same === undefined) fields.set(name, [node]);
      else same.push(node);
    }
    for (const same of fields.values()) {
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
  for (const { selectionSet } of definitions) compare([selectionSet]);
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
  const found = ofOperation(costs, operationName);
  if (found === undefined) return undefined;
  const cost = costWith(found, variables);
  if (cost > maxCost) tooComplex(`The estimated cost of the query is ${cost}; ${maxCost} is allowed.`, cost);
  return cost;
}

/** What is known of an operation. @param operationName Null: the document's only operation. */
export function ofOperation<Known>(
  known: ReadonlyMap<string | null, Known>,
  operationName: string | null,
): Known | undefined {
  if (operationName !== null) return known.get(operationName);
  const [only] = known.values();
  return known.size === 1 ? only : undefined;
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
