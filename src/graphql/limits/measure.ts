import { type GraphQLCompositeType, isAbstractType, isObjectType } from 'graphql';
import { type Cost, larger, plus, times } from './cost.js';

/** What a selection set holds, fragments counted wherever they are spread. */
export interface Measure {
  readonly selections: number;
  readonly aliases: number;
  /** Fields that are not inside other fields. */
  readonly fields: number;
  /** Fields in fields. */
  readonly depth: number;
  /** Selection sets in selection sets, of fields and of fragments. */
  readonly levels: number;
  /** For one object, whatever its type. */
  readonly cost: Cost;
  /** What is added for an object of one of the types, where the selection set's own type is abstract. */
  readonly costByType: ReadonlyMap<string, Cost>;
}

/** Nothing selected. */
export const NOTHING: Measure = {
  selections: 0,
  aliases: 0,
  fields: 0,
  depth: 0,
  levels: 0,
  cost: 0,
  costByType: new Map(),
};

/** Two parts of a selection set together. */
export function together(one: Measure, other: Measure): Measure {
  return {
    selections: one.selections + other.selections,
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
 * What a fragment adds to the selection set that it stands in.
 *
 * @param fragment What it holds, for objects of `condition`.
 * @param condition Undefined for a type that the schema does not know.
 * @param parent The type of the selection set that it stands in.
 */
export function ofFragment(
  fragment: Measure,
  condition: GraphQLCompositeType | undefined,
  parent: GraphQLCompositeType | undefined,
): Measure {
  const measure = { ...fragment, selections: fragment.selections + 1, levels: fragment.levels + 1 };
  if (isObjectType(condition) && isAbstractType(parent)) {
    return { ...measure, cost: 0, costByType: new Map([[condition.name, fragment.cost]]) };
  }
  if (!isObjectType(parent)) return measure;
  const cost = plus(fragment.cost, fragment.costByType.get(parent.name) ?? 0);
  return { ...measure, cost, costByType: NOTHING.costByType };
}

/** The cost of a selection set for one object: that of the dearest type, where it may have several. */
export function costOfObject({ cost, costByType }: Measure): Cost {
  return plus(cost, [...costByType.values()].reduce<Cost>(larger, 0));
}

/** The measure of what may be left out: only its cost changes by that. */
export function included(inclusion: readonly Cost[], measure: Measure): Measure {
  if (inclusion.length === 0) return measure;
  const factor = inclusion.reduce<Cost>(times, 1);
  const costByType = new Map([...measure.costByType].map(([type, cost]) => [type, times(factor, cost)]));
  return { ...measure, cost: times(factor, measure.cost), costByType };
}
