import { type DocumentNode, Kind, type OperationDefinitionNode, type SelectionSetNode } from 'graphql';

/**
 * How many selections an operation has, those of a fragment counted wherever it is spread.
 *
 * @param document Valid, so that no fragment spreads itself.
 */
export function countSelections(operation: OperationDefinitionNode, document: DocumentNode): number {
  const fragments = new Map<string, SelectionSetNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) {
      fragments.set(definition.name.value, definition.selectionSet);
    }
  }
  const counts = new Map<SelectionSetNode, number>();
  const count = (set: SelectionSetNode | undefined): number => {
    if (set === undefined) return 0;
    const known = counts.get(set);
    if (known !== undefined) return known;
    let total = set.selections.length;
    for (const selection of set.selections) {
      const isSpread = selection.kind === Kind.FRAGMENT_SPREAD;
      total += count(isSpread ? fragments.get(selection.name.value) : selection.selectionSet);
    }
    counts.set(set, total);
    return total;
  };
  return count(operation.selectionSet);
}
