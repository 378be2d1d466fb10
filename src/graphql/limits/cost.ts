/** The variables of a request, as they came. */
export type Variables = Readonly<Record<string, unknown>>;

/** A cost that is known, or that follows from a request's variables. */
export type Cost = number | ((variables: Variables) => number);

/** What a request gives for a variable; undefined where it does not say it, whatever the name. */
export function valueOfVariable(variables: Variables, name: string): unknown {
  return Object.hasOwn(variables, name) ? variables[name] : undefined;
}

/** The cost for given variables. */
export function costWith(cost: Cost, variables: Variables): number {
  return typeof cost === 'number' ? cost : cost(variables);
}

/** One cost and another. */
export function plus(one: Cost, other: Cost): Cost {
  if (one === 0) return other;
  if (other === 0) return one;
  if (typeof one === 'number' && typeof other === 'number') return one + other;
  return (variables) => costWith(one, variables) + costWith(other, variables);
}

/** A cost, so many times. */
export function times(count: Cost, cost: Cost): Cost {
  if (count === 1) return cost;
  if (count === 0 || cost === 0) return 0;
  if (typeof count === 'number' && typeof cost === 'number') return count * cost;
  return (variables) => costWith(count, variables) * costWith(cost, variables);
}

/** The larger one of two costs. */
export function larger(one: Cost, other: Cost): Cost {
  if (typeof one === 'number' && typeof other === 'number') return Math.max(one, other);
  return (variables) => Math.max(costWith(one, variables), costWith(other, variables));
}
