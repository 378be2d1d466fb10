import {
  type ASTVisitor,
  GraphQLError,
  Kind,
  OperationTypeNode,
  type SelectionNode,
  type SelectionSetNode,
  type ValidationContext,
} from 'graphql';

/** What a document has to meet besides the rules of GraphQL. */
export const VALIDATION_RULES = [wholeSubscriptions];

/**
 * A validation rule: the field of a subscription must not be left out (GraphQL, section 5.2.4). graphql-js 16 throws an
 * error of its own where it is.
 */
function wholeSubscriptions(context: ValidationContext): ASTVisitor {
  return {
    OperationDefinition({ operation, selectionSet }) {
      if (operation !== OperationTypeNode.SUBSCRIPTION) return;
      const nodes = selectionsOfRoot(context, selectionSet, new Set())
        .flatMap(({ directives = [] }) => directives)
        .filter(({ name }) => name.value === 'skip' || name.value === 'include');
      if (nodes.length === 0) return;
      const message = 'The field of a subscription cannot be left out: remove @skip and @include.';
      context.reportError(new GraphQLError(message, { nodes }));
    },
  };
}

/** Fields of an operation that are in no other field, and the fragments that they are in. */
function selectionsOfRoot(
  context: ValidationContext,
  { selections }: SelectionSetNode,
  visited: Set<string>,
): SelectionNode[] {
  return selections.flatMap((selection) => {
    if (selection.kind === Kind.FIELD) return selection;
    if (selection.kind === Kind.INLINE_FRAGMENT) {
      return [selection, ...selectionsOfRoot(context, selection.selectionSet, visited)];
    }
    const { value: name } = selection.name;
    const fragment = visited.has(name) ? undefined : context.getFragment(name);
    visited.add(name);
    return [selection, ...(fragment ? selectionsOfRoot(context, fragment.selectionSet, visited) : [])];
  });
}
