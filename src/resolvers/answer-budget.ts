import { type FieldNode, GraphQLError, type GraphQLResolveInfo, Kind, type SelectionSetNode } from 'graphql';

type Fragments = GraphQLResolveInfo['fragments'];

/** How many values a request may read from lists: some two seconds' work, field by field. */
const MOST_VALUES = 1_000_000;

/** A node belongs to one document, which is asked again and again: what it selects never changes. */
const selectionsOfNode = new WeakMap<FieldNode, number>();

/**
 * What a request may read from the lists of a domain. What a query costs is known before anything is looked
 * up, and takes lists for short; how long they are shows only here.
 */
export class AnswerBudget {
  #left = MOST_VALUES;

  /**
   * Takes what a list's entries have of values: each has as many as are selected, whatever its type.
   *
   * @throws GraphQLError QUERY_TOO_COMPLEX where less is left.
   */
  take(
    entries: number,
    { fieldNodes, fragments }: Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments'>,
  ): void {
    const selections = fieldNodes.reduce((sum, node) => sum + selectionsIn(node, fragments), 0);
    const values = entries * selections;
    if (values > this.#left) throw tooMany();
    this.#left -= values;
  }
}

function tooMany(): GraphQLError {
  const message = `The answer would have more than ${MOST_VALUES} values: ask for fewer domains, types, names or fields in one request.`;
  return new GraphQLError(message, { extensions: { code: 'QUERY_TOO_COMPLEX' } });
}

/** How many fields are inside a field, those of a fragment counted wherever it is spread. */
function selectionsIn(node: FieldNode, fragments: Fragments): number {
  const known = selectionsOfNode.get(node);
  if (known !== undefined) return known;
  const selections = countSelections(node.selectionSet, fragments, new Map());
  selectionsOfNode.set(node, selections);
  return selections;
}

/** @param counted What is known of sets, so that a fragment that is spread many times is looked into once. */
function countSelections(
  set: SelectionSetNode | undefined,
  fragments: Fragments,
  counted: Map<SelectionSetNode, number>,
): number {
  if (set === undefined) return 0;
  const known = counted.get(set);
  if (known !== undefined) return known;
  let count = 0;
  for (const selection of set.selections) {
    const isSpread = selection.kind === Kind.FRAGMENT_SPREAD;
    const inside = isSpread ? fragments[selection.name.value]?.selectionSet : selection.selectionSet;
    count += countSelections(inside, fragments, counted) + (selection.kind === Kind.FIELD ? 1 : 0);
  }
  counted.set(set, count);
  return count;
}
