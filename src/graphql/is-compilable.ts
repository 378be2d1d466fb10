import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  getOperationAST,
  isAbstractType,
  isCompositeType,
  Kind,
  OperationTypeNode,
  type SelectionNode,
  type SelectionSetNode,
  visit,
} from 'graphql';

/** Tokens of a document, and fields in what is compiled of it: to compile 1,400 took 300 ms, in one turn of the event loop. */
const MAX_COMPILED = 1_000;

/**
 * Whether the compiler is quick with a valid document, and executes it as graphql-js does: one query, and no directives,
 * introspection, or defaults of variables.
 */
export function isCompilable(schema: GraphQLSchema, document: DocumentNode): boolean {
  const operation = getOperationAST(document);
  if (operation?.operation !== OperationTypeNode.QUERY) return false;
  if ((document.tokenCount ?? Number.POSITIVE_INFINITY) > MAX_COMPILED) return false;
  let isKnown = true;
  const reject = () => {
    isKnown = false;
  };
  visit(document, {
    Directive: reject,
    Field: ({ alias, name }) => {
      if (name.value.startsWith('__') ? name.value !== '__typename' : alias?.value === '__proto__') reject();
    },
    [Kind.VARIABLE_DEFINITION]: ({ variable, defaultValue }) => {
      if (defaultValue !== undefined || variable.name.value === '__proto__') reject();
    },
  });
  const fieldsIn = fieldCounter(schema, document);
  return isKnown && fieldsIn(operation.selectionSet, schema.getQueryType()) <= MAX_COMPILED;
}

/**
 * Counts how many fields the compiler writes code for: those of a fragment wherever it is spread, and of an interface or union
 * for each type that it may be.
 */
function fieldCounter(schema: GraphQLSchema, { definitions }: DocumentNode) {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const node of definitions) {
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node);
  }
  /** Each selection set is counted once for a type, however often its fragment is spread. */
  const counted = new Map<SelectionSetNode, Map<GraphQLObjectType, number>>();

  const fieldsIn = (set: SelectionSetNode | undefined, type: GraphQLNamedType | null | undefined): number => {
    if (set === undefined || !isCompositeType(type)) return 0;
    const types = isAbstractType(type) ? schema.getPossibleTypes(type) : [type];
    return types.reduce((sum, each) => sum + ofObject(set, each), 0);
  };
  const ofObject = (set: SelectionSetNode, type: GraphQLObjectType): number => {
    const ofTypes = counted.get(set) ?? new Map<GraphQLObjectType, number>();
    const count = ofTypes.get(type) ?? set.selections.reduce((sum, node) => sum + ofSelection(node, type), 0);
    counted.set(set, ofTypes.set(type, count));
    return count;
  };
  const ofSelection = (node: SelectionNode, type: GraphQLObjectType): number => {
    if (node.kind === Kind.FIELD) {
      return 1 + fieldsIn(node.selectionSet, getNamedType(type.getFields()[node.name.value]?.type));
    }
    const fragment = node.kind === Kind.INLINE_FRAGMENT ? node : fragments.get(node.name.value);
    const condition = fragment?.typeCondition && schema.getType(fragment.typeCondition.name.value);
    const applies = isAbstractType(condition) ? schema.isSubType(condition, type) : condition === type;
    return condition === undefined || applies ? fieldsIn(fragment?.selectionSet, type) : 0;
  };
  return fieldsIn;
}
