import {
  type FieldNode,
  type FragmentDefinitionNode,
  type FragmentSpreadNode,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  type InlineFragmentNode,
  isCompositeType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type NamedTypeNode,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
} from 'graphql';
import { plus, times } from './cost.js';
import { inclusionOf, priceOf, sizeOf } from './field-cost.js';
import { MOST_LEVELS } from './limits.js';
import { costOfObject, included, type Measure, NOTHING, ofFragment, together } from './measure.js';
import { refuse } from './refuse.js';

type Parent = GraphQLCompositeType | undefined;

/**
 * What a document's operations and fragments hold. Each fragment is looked into once, so that the time this
 * takes depends on the length of the document alone. What the schema does not know is counted all the same:
 * validation tells of it.
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
    if (this.#open.has(name)) refuse(`The fragment ${name} spreads itself.`);
    this.#open.add(name);
    const measure = this.#selectionSet(definition.selectionSet, this.#type(definition.typeCondition), level);
    this.#open.delete(name);
    this.#fragments.set(name, measure);
    return measure;
  }

  #selectionSet({ selections }: SelectionSetNode, parent: Parent, level: number): Measure {
    if (level > MOST_LEVELS) refuseLevels();
    const measure = selections
      .map((selection) =>
        included(inclusionOf(selection.directives), this.#selection(selection, parent, level)),
      )
      .reduce(together, NOTHING);
    // A fragment that was looked into before may go deeper than this one's level alone tells.
    if (measure.levels > MOST_LEVELS) refuseLevels();
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
    const size = isList(definition?.type) ? sizeOf(field, node) : 1;
    return {
      selections: inside.selections + 1,
      aliases: inside.aliases + (node.alias === undefined ? 0 : 1),
      fields: 1,
      depth: inside.depth + 1,
      levels: inside.levels + 1,
      cost: plus(priceOf(field), times(size, costOfObject(inside))),
      costByType: NOTHING.costByType,
    };
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
  return isListType(isNonNullType(type) ? type.ofType : type);
}

function refuseLevels(): never {
  refuse(`The document is nested more than ${MOST_LEVELS} levels deep, fragments included.`);
}
