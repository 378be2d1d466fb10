import {
  type FieldNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';
import { MOST_COMPARISONS } from './limits.js';
import { refuse } from './refuse.js';

/** What validation compares all of with each other (GraphQL, section 5.3.2): the fields of one name in one place. */
type FieldsByName = Map<string, FieldNode[]>;

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

const TOO_MANY = `The document asks for fields of one name in one place too many times: their pairs may be ${MOST_COMPARISONS} at most.`;

/**
 * Holds the comparisons of fields that validation will make within their limit.
 *
 * @param operations No fragment spreads itself, and the selections are not too many with all fragments spread.
 * @throws QueryTooComplexError
 */
export function requireFewComparisons(
  operations: readonly OperationDefinitionNode[],
  definitions: readonly FragmentDefinitionNode[],
): void {
  const fragments = new Map(definitions.map((fragment) => [fragment.name.value, fragment]));
  let comparisons = 0;
  const count = (pairs: number) => {
    comparisons += pairs;
    if (comparisons > MOST_COMPARISONS) refuse(TOO_MANY);
  };
  const compare = (sets: readonly SelectionSetNode[]): void => {
    const fields: FieldsByName = new Map();
    for (const set of sets) gather(set, fragments, fields);
    for (const same of fields.values()) {
      count((same.length * (same.length - 1)) / 2);
      const inside = same.flatMap(({ selectionSet }) => selectionSet ?? []);
      if (inside.length > 0) compare(inside);
    }
  };
  for (const { selectionSet } of [...operations, ...definitions]) compare([selectionSet]);
}

function gather({ selections }: SelectionSetNode, fragments: Fragments, fields: FieldsByName): void {
  for (const selection of selections) {
    if (selection.kind === Kind.FIELD) {
      const name = (selection.alias ?? selection.name).value;
      const same = fields.get(name);
      if (same === undefined) fields.set(name, [selection]);
      else same.push(selection);
      continue;
    }
    const isSpread = selection.kind === Kind.FRAGMENT_SPREAD;
    const inside = isSpread ? fragments.get(selection.name.value)?.selectionSet : selection.selectionSet;
    if (inside !== undefined) gather(inside, fragments, fields);
  }
}
