import { type ArgumentNode, type DirectiveNode, type FieldNode, Kind, type ValueNode } from 'graphql';

/** The variables of a request, before coercion. */
export type Variables = Readonly<Record<string, unknown>>;

/** A cost, which may depend on the variables of the request. */
export type Cost = number | ((variables: Variables) => number);

/** The value of a variable; undefined if absent, whatever its name. */
function valueOfVariable(variables: Variables, name: string): unknown {
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

/** The cost of a field apart from its selection. */
interface FieldPrice {
  /** Of each occurrence; 1 if absent. */
  readonly price?: number;
  /** Of each object besides its selection; 0 if absent. */
  readonly each?: number;
  /** The argument that limits how many objects there are: a list, or a number. */
  readonly sizedBy?: string;
  /** How many objects there are at most; 1 of a list whose objects its parent's price has counted. */
  readonly size?: number;
}

const CONNECTIONS = [
  ...['Change', 'DnsRecord', 'DnsRecordMatch', 'Domain', 'HeaderChange', 'HeaderHistory', 'HttpHeaderMatch'],
];

/** Fields whose cost is not 1 plus, for a list, that of its selection for each of ASSUMED_SIZE objects. */
export const PRICES: ReadonlyMap<string, FieldPrice> = new Map<string, FieldPrice>([
  ['Query.domain', { price: 10 }],
  ['Query.node', { price: 10 }],
  ['Query.domains', { each: 10, sizedBy: 'names' }],
  ['Domain.diff', { price: 10 }],
  ['Domain.changes', { price: 10, sizedBy: 'first' }],
  ['Domain.dnsRecordsConnection', { price: 10, sizedBy: 'first' }],
  ['Domain.httpHeadersConnection', { price: 10, sizedBy: 'first' }],
  ['HeaderHistory.historyConnection', { price: 10, sizedBy: 'first' }],
  ['Query.dnsRecords', { price: 10, sizedBy: 'first' }],
  ['Query.httpHeaders', { price: 10, sizedBy: 'first' }],
  ['Query.searchDomains', { price: 10, sizedBy: 'first' }],
  ['Query.changes', { price: 10, sizedBy: 'first' }],
  ['Query.statistics', { price: 10 }],
  ['Subscription.changes', { price: 10, size: 100 }],
  ...CONNECTIONS.flatMap((type) => [
    [`${type}Connection.nodes`, { size: 1 }] as const,
    [`${type}Connection.edges`, { size: 1 }] as const,
  ]),
  ['Domain.dnsRecords', { sizedBy: 'types' }],
  ['Domain.httpHeaders', { sizedBy: 'names' }],
]);

/** How many objects a list is assumed to have where no argument limits it, and how many a page has where `first` is not given. */
const ASSUMED_SIZE = 10;
const DEFAULT_FIRST = 100;

/** The cost of a field itself. @param field Such as `Query.domain`. */
export function priceOf(field: string): number {
  return PRICES.get(field)?.price ?? 1;
}

/** The cost of each object of a field besides its selection. @param field Such as `Query.domains`. */
export function priceOfObject(field: string): number {
  return PRICES.get(field)?.each ?? 0;
}

/** How many objects a field is assumed to have. @param field Such as `Domain.dnsRecords`. */
export function sizeOf(field: string, node: FieldNode, isList: boolean): Cost {
  const { sizedBy, size } = PRICES.get(field) ?? {};
  if (size !== undefined) return size;
  if (!isList && sizedBy === undefined) return 1;
  const value = sizedBy === undefined ? undefined : valueOfArgument(node.arguments, sizedBy);
  switch (value?.kind) {
    case undefined:
    case Kind.NULL:
      return sizedBy === 'first' ? DEFAULT_FIRST : ASSUMED_SIZE;
    case Kind.LIST:
      return value.values.length;
    case Kind.INT:
      return sizedBy === 'first' ? numberOf(Number(value.value)) : 1;
    case Kind.VARIABLE:
      return sizedBy === 'first' ? numberIn(value.name.value) : lengthOf(value.name.value);
    default:
      return 1;
  }
}

/** A value that is not a list is coerced to a list of one (GraphQL, section 3.11, input coercion). */
function lengthOf(variable: string): Cost {
  return (variables) => {
    const value = valueOfVariable(variables, variable);
    if (value === undefined || value === null) return ASSUMED_SIZE;
    return Array.isArray(value) ? value.length : 1;
  };
}

function numberIn(variable: string): Cost {
  return (variables) => {
    const value = valueOfVariable(variables, variable);
    if (value === undefined || value === null) return DEFAULT_FIRST;
    return typeof value === 'number' ? numberOf(value) : 1;
  };
}

/** The operation rejects numbers that are not positive. */
function numberOf(value: number): number {
  return Number.isFinite(value) ? Math.max(value, 1) : 1;
}

/** 1 where a selection is included, 0 where `@skip` or `@include` leaves it out. */
export function inclusionOf(directives: readonly DirectiveNode[] = []): readonly Cost[] {
  return directives.flatMap(({ name, arguments: given }) => {
    if (name.value === 'skip') return [unless(true, valueOfArgument(given, 'if'))];
    return name.value === 'include' ? [unless(false, valueOfArgument(given, 'if'))] : [];
  });
}

function unless(excluding: boolean, value: ValueNode | undefined): Cost {
  if (value?.kind === Kind.BOOLEAN) return value.value === excluding ? 0 : 1;
  return value?.kind === Kind.VARIABLE ? unlessVariable(excluding, value.name.value) : 1;
}

function unlessVariable(excluding: boolean, variable: string): Cost {
  return (variables) => (valueOfVariable(variables, variable) === excluding ? 0 : 1);
}

function valueOfArgument(given: readonly ArgumentNode[] = [], name: string): ValueNode | undefined {
  return given.find((argument) => argument.name.value === name)?.value;
}
