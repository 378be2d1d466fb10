import {
  type FieldNode,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  isObjectType,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';

/** Where a field was selected: part of GraphQLResolveInfo. */
export type Selecting = Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments' | 'schema'>;

/** A node belongs to one document, which is asked again and again: what it selects never changes. */
const valuesOfNode = new WeakMap<FieldNode, number>();

/**
 * How many values a field's selection has for one object: for one of the type that has most, where it may be
 * of several. Objects inside it count once, lists too.
 */
export function selectedValues({ fieldNodes, fragments, schema }: Selecting): number {
  let sum = 0;
  for (const node of fieldNodes) {
    const values =
      valuesOfNode.get(node) ?? new SelectionCount(schema, fragments).valuesIn(node.selectionSet);
    valuesOfNode.set(node, values);
    sum += values;
  }
  return sum;
}

/** What a selection set has for every object, and besides for those of a type. */
interface Selected {
  readonly always: number;
  readonly byType: ReadonlyMap<string, number>;
}

const NO_TYPES: Selected['byType'] = new Map();

/** Looks into each selection set once, so that a fragment may be spread many times. */
class SelectionCount {
  readonly #schema: GraphQLSchema;
  readonly #fragments: Selecting['fragments'];
  readonly #known = new Map<SelectionSetNode, Selected>();

  constructor(schema: GraphQLSchema, fragments: Selecting['fragments']) {
    this.#schema = schema;
    this.#fragments = fragments;
  }

  valuesIn(set: SelectionSetNode | undefined): number {
    if (set === undefined) return 0;
    const { always, byType } = this.#selectedIn(set);
    return always + Math.max(0, ...byType.values());
  }

  #selectedIn(set: SelectionSetNode): Selected {
    const known = this.#known.get(set);
    if (known !== undefined) return known;
    const parts = set.selections.map((selection) => this.#selected(selection));
    const byType = new Map<string, number>();
    for (const part of parts) {
      for (const [type, values] of part.byType) byType.set(type, (byType.get(type) ?? 0) + values);
    }
    const selected = { always: parts.reduce((sum, { always }) => sum + always, 0), byType };
    this.#known.set(set, selected);
    return selected;
  }

  #selected(selection: SelectionNode): Selected {
    if (selection.kind === Kind.FIELD) {
      return { always: 1 + this.valuesIn(selection.selectionSet), byType: NO_TYPES };
    }
    const fragment =
      selection.kind === Kind.FRAGMENT_SPREAD ? this.#fragments[selection.name.value] : selection;
    if (fragment === undefined) return { always: 0, byType: NO_TYPES };
    const inside = this.#selectedIn(fragment.selectionSet);
    const type = fragment.typeCondition?.name.value;
    if (type === undefined || !isObjectType(this.#schema.getType(type))) return inside;
    return { always: 0, byType: new Map([[type, inside.always + (inside.byType.get(type) ?? 0)]]) };
  }
}
