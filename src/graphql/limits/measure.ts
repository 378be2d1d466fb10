import {
  type FieldNode,
  type FragmentDefinitionNode,
  type FragmentSpreadNode,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  type InlineFragmentNode,
  isAbstractType,
  isCompositeType,
  isInterfaceType,
  isListType,
  isObjectType,
  Kind,
  type NamedTypeNode,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
} from 'graphql';
import { type Cost, inclusionOf, larger, plus, priceOf, priceOfObject, sizeOf, times } from './cost.js';
import { MOST_LEVELS, tooComplex } from './limits.js';

/** What a selection set holds, fragments counted wherever they are spread. */
export interface Measure {
  readonly selections: number;
  /** The same, those of objects that have one of several types once for each type, and each of these types. */
  readonly selectionsByType: number;
  readonly aliases: number;
  /** Fields that are not inside other fields. */
  readonly fields: number;
  /** Fields in fields. */
  readonly depth: number;
  /** Selection sets in selection sets, of fields and of fragments. */
  readonly levels: number;
  /** For one object, whatever its type. */
  readonly cost: Cost;
  /** What is added for an object of one of the types, if the selection set's own type is abstract. */
  readonly costByType: ReadonlyMap<string, Cost>;
}

/** Nothing selected. */
const NOTHING: Measure = {
  selections: 0,
  selectionsByType: 0,
  aliases: 0,
  fields: 0,
  depth: 0,
  levels: 0,
  cost: 0,
  costByType: new Map(),
};

/** Two parts of a selection set together. */
function together(one: Measure, other: Measure): Measure {
  return {
    selections: one.selections + other.selections,
    selectionsByType: one.selectionsByType + other.selectionsByType,
    aliases: one.aliases + other.aliases,
    fields: one.fields + other.fields,
    depth: Math.max(one.depth, other.depth),
    levels: Math.max(one.levels, other.levels),
    cost: plus(one.cost, other.cost),
    costByType: mergeByType(one.costByType, other.costByType),
  };
}

function mergeByType(one: Measure['costByType'], other: Measure['costByType']): Measure['costByType'] {
  if (one.size === 0) return other;
  if (other.size === 0) return one;
  const merged = new Map(one);
  for (const [type, cost] of other) merged.set(type, plus(merged.get(type) ?? 0, cost));
  return merged;
}

/**
 * What a fragment adds to the selection set that contains it.
 *
 * @param fragment What it holds, for objects of `condition`.
 * @param condition Undefined for a type that the schema does not know.
 * @param parent The type of the selection set that contains it.
 */
function ofFragment(
  fragment: Measure,
  condition: GraphQLCompositeType | undefined,
  parent: GraphQLCompositeType | undefined,
): Measure {
  const measure = {
    ...fragment,
    selections: fragment.selections + 1,
    selectionsByType: fragment.selectionsByType + 1,
    levels: fragment.levels + 1,
  };
  if (isObjectType(condition) && isAbstractType(parent)) {
    return { ...measure, cost: 0, costByType: new Map([[condition.name, fragment.cost]]) };
  }
  if (!isObjectType(parent)) return measure;
  const cost = plus(fragment.cost, fragment.costByType.get(parent.name) ?? 0);
  return { ...measure, cost, costByType: NOTHING.costByType };
}

/** The cost of a selection set for one object: that of the most expensive type, where it may have several. */
export function costOfObject({ cost, costByType }: Measure): Cost {
  return plus(cost, [...costByType.values()].reduce<Cost>(larger, 0));
}

/** The measure of what may be left out: only its cost changes by that. */
function included(inclusion: readonly Cost[], measure: Measure): Measure {
  if (inclusion.length === 0) return measure;
  const factor = inclusion.reduce<Cost>(times, 1);
  const costByType = new Map([...measure.costByType].map(([type, cost]) => [type, times(factor, cost)]));
  return { ...measure, cost: times(factor, measure.cost), costByType };
}

type Parent = GraphQLCompositeType | undefined;

/**
 * Measures the operations and fragments of a document. Each fragment is read once, so that the time depends on the
 * length of the document alone. Fields that the schema does not have are counted, too: validation reports them.
 */
export class DocumentMeasure {
  readonly #schema: GraphQLSchema;
  readonly #definitions: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #fragments = new Map<string, Measure>();
  readonly #open = new Set<string>();

  constructor(schema: GraphQLSchema, fragments: readonly FragmentDefinitionNode[]) {
    this.#schema = schema;
    this.#definitions = new Map(fragments.map((fragment) => [fragment.name.value, fragment]));
  }

  /** @throws QueryTooComplexError where it is nested too deeply, or without an end. */
  operation({ operation, selectionSet }: OperationDefinitionNode): Measure {
    return this.#selectionSet(selectionSet, this.#schema.getRootType(operation) ?? undefined, 0);
  }

  /** A fragment's own selection set. @throws QueryTooComplexError as operation() does. */
  fragment(definition: FragmentDefinitionNode): Measure {
    const { name, typeCondition, selectionSet } = definition;
    // Of two with one name, which is not valid, the document's spreads mean one only.
    if (this.#definitions.get(name.value) === definition) return this.#fragment(name.value, 0);
    return this.#selectionSet(selectionSet, this.#type(typeCondition), 0);
  }

  #fragment(name: string, level: number): Measure {
    const known = this.#fragments.get(name);
    if (known !== undefined) return known;
    const definition = this.#definitions.get(name);
    if (definition === undefined) return NOTHING;
    if (this.#open.has(name)) tooComplex(`The fragment ${name} spreads itself.`);
    this.#open.add(name);
    const measure = this.#selectionSet(definition.selectionSet, this.#type(definition.typeCondition), level);
    this.#open.delete(name);
    this.#fragments.set(name, measure);
    return measure;
  }

  #selectionSet({ selections }: SelectionSetNode, parent: Parent, level: number): Measure {
    if (level > MOST_LEVELS) tooManyLevels();
    const measure = selections
      .map((selection) =>
        included(inclusionOf(selection.directives), this.#selection(selection, parent, level)),
      )
      .reduce(together, NOTHING);
    // A fragment that was measured before may be deeper than its level here shows.
    if (measure.levels > MOST_LEVELS) tooManyLevels();
    return measure;
  }

  #selection(selection: SelectionNode, parent: Parent, level: number): Measure {
    switch (selection.kind) {
      case Kind.FIELD:
        return this.#field(selection, parent, level + 1);
      case Kind.INLINE_FRAGMENT:
        return this.#inlineFragment(selection, parent, level + 1);
      case Kind.FRAGMENT_SPREAD:
        return this.#spread(selection, parent, level + 1);
    }
  }

  #field(node: FieldNode, parent: Parent, level: number): Measure {
    const definition = this.#definition(parent, node.name.value);
    const type = definition === undefined ? undefined : getNamedType(definition.type);
    const inside =
      node.selectionSet === undefined
        ? NOTHING
        : this.#selectionSet(node.selectionSet, isCompositeType(type) ? type : undefined, level);
    const field = `${parent?.name}.${node.name.value}`;
    const isMeta = definition === SchemaMetaFieldDef || definition === TypeMetaFieldDef;
    // What is selected of the schema costs what introspectionOf() says.
    const types = isAbstractType(type) ? this.#typesOf(type) : 0;
    const size = isMeta ? 0 : sizeOf(field, node, isList(definition?.type));
    return {
      selections: inside.selections + 1,
      selectionsByType: (inside.selectionsByType + 1 + types) * this.#typesOf(parent),
      aliases: inside.aliases + (node.alias === undefined ? 0 : 1),
      fields: 1,
      depth: inside.depth + 1,
      levels: inside.levels + 1,
      cost: isMeta ? 0 : plus(priceOf(field), times(size, plus(priceOfObject(field), costOfObject(inside)))),
      costByType: NOTHING.costByType,
    };
  }

  /** How many types an object of a type may have. */
  #typesOf(type: GraphQLCompositeType | undefined): number {
    return isAbstractType(type) ? this.#schema.getPossibleTypes(type).length : 1;
  }

  #inlineFragment(
    { typeCondition, selectionSet }: InlineFragmentNode,
    parent: Parent,
    level: number,
  ): Measure {
    const condition = typeCondition === undefined ? parent : this.#type(typeCondition);
    return ofFragment(this.#selectionSet(selectionSet, condition, level), condition, parent);
  }

  #spread({ name }: FragmentSpreadNode, parent: Parent, level: number): Measure {
    const definition = this.#definitions.get(name.value);
    const condition = definition === undefined ? undefined : this.#type(definition.typeCondition);
    return ofFragment(this.#fragment(name.value, level), condition, parent);
  }

  #type({ name }: NamedTypeNode): Parent {
    const type = this.#schema.getType(name.value);
    return isCompositeType(type) ? type : undefined;
  }

  #definition(parent: Parent, name: string): GraphQLField<unknown, unknown> | undefined {
    if (name === '__schema') return SchemaMetaFieldDef;
    if (name === '__type') return TypeMetaFieldDef;
    return isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[name] : undefined;
  }
}

function isList(type: GraphQLOutputType | undefined): boolean {
  return isListType(getNullableType(type));
}

function tooManyLevels(): never {
  tooComplex(`The document is nested more than ${MOST_LEVELS} levels deep, fragments included.`);
}
