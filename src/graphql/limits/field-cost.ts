import { type ArgumentNode, type DirectiveNode, type FieldNode, Kind, type ValueNode } from 'graphql';
import { type Cost, valueOfVariable } from './cost.js';

/** What a field costs besides what is selected in it. */
interface FieldPrice {
  /** For each time that it is asked for; 1 for any field that is not named here. */
  readonly price?: number;
  /** The argument whose list says how many objects are asked for. */
  readonly sizedBy?: string;
  /** How many objects there are; ASSUMED_SIZE for any list that is not named here. */
  readonly size?: number;
}

/** Fields that cost otherwise than 1 for the field and its selection for each of ASSUMED_SIZE objects. */
export const PRICES: ReadonlyMap<string, FieldPrice> = new Map([
  ['Query.domain', { price: 10 }],
  ['Domain.dnsRecords', { sizedBy: 'types' }],
  ['Domain.httpHeaders', { sizedBy: 'names' }],
  // About what the schema has; nested lists would be taken for far more.
  ['__Schema.types', { size: 40 }],
  ['__Type.fields', { size: 8 }],
  ['__Type.inputFields', { size: 1 }],
  ['__Type.interfaces', { size: 1 }],
  ['__Type.enumValues', { size: 1 }],
  ['__Type.possibleTypes', { size: 1 }],
  ['__Field.args', { size: 1 }],
  ['__Directive.args', { size: 2 }],
  ['__Directive.locations', { size: 2 }],
]);

/** How many objects a list is taken to have where no argument says it. */
export const ASSUMED_SIZE = 10;

/** What a field costs itself. @param field Such as `Query.domain`. */
export function priceOf(field: string): number {
  return PRICES.get(field)?.price ?? 1;
}

/** How many objects a field that gives a list is taken to give. @param field Such as `Domain.dnsRecords`. */
export function sizeOf(field: string, node: FieldNode): Cost {
  const { sizedBy: name, size = ASSUMED_SIZE } = PRICES.get(field) ?? {};
  const value = name === undefined ? undefined : valueOfArgument(node.arguments, name);
  switch (value?.kind) {
    case undefined:
    case Kind.NULL:
      return size;
    case Kind.LIST:
      return value.values.length;
    case Kind.VARIABLE:
      return lengthOf(value.name.value);
    default:
      return 1;
  }
}

/** One that is no list is taken for a list of one (GraphQL, section 3.11, input coercion). */
function lengthOf(variable: string): Cost {
  return (variables) => {
    const value = valueOfVariable(variables, variable);
    if (value === undefined || value === null) return ASSUMED_SIZE;
    return Array.isArray(value) ? value.length : 1;
  };
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
