import {
  type ArgumentNode,
  type DirectiveNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLCompositeType,
  type GraphQLField,
  type GraphQLSchema,
  getDirectiveValues,
  getNamedType,
  getNullableType,
  isCompositeType,
  isInterfaceType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  type SelectionSetNode,
  TypeMetaFieldDef,
  type ValueNode,
  valueFromASTUntyped,
} from 'graphql';
import { PublicError } from '../model/errors.js';

/** The variables of a request, before coercion. */
export type Variables = Readonly<Record<string, unknown>>;

/** What a request costs, and asks for. */
export interface RequestCost {
  /** The units of each field of the root that costs something, by its name in the response. */
  readonly units: ReadonlyMap<string | number, number>;
  /** Of a subscription: the units of each change that is sent, besides those of the stream. */
  readonly unitsOfChange: number;
  /** How many fields the response has, about: lists have the lengths that are asked for. */
  readonly estimate: number;
}

/** What follows from a document alone. */
export interface DocumentCost {
  /** 1 for each full 1,000 tokens. */
  readonly units: number;
  /** Fields in fields. */
  readonly depth: number;
  /** Whether it takes a place for searches. */
  readonly isSearch: boolean;
  /** How many of its fields read much of the database. */
  readonly wideFields: number;
  /** Whether it may continue after a cursor. */
  readonly hasCursor: boolean;
  costWith(variables: Variables): RequestCost;
}

/** An amount that may depend on variables. */
type Amount = number | ((variables: Variables) => number);

/** What is selected in one place, fragments included. */
interface Measure {
  /** The cost of its fields. */
  readonly units: Amount;
  /** How many fields there are, those in lists as often as they are asked for. */
  readonly fields: Amount;
  readonly depth: number;
  readonly isSearch: boolean;
  readonly wideFields: number;
  readonly hasCursor: boolean;
}

const NOTHING: Measure = {
  units: 0,
  fields: 0,
  depth: 0,
  isSearch: false,
  wideFields: 0,
  hasCursor: false,
};

const TOKENS_OF_UNIT = 1_000;
/** How many entries a list is taken to have that no argument limits. */
const LIST_LENGTH = 10;
/** How many a page has where `first` is not given: the default of schema.graphql. */
const DEFAULT_FIRST = 100;
/** How many entries of a page its cost includes. */
const ENTRIES_OF_PAGE = 100;
/**
 * The lists of the schema itself, about. Those that lead to fields again have their full lengths, the others what they have on average:
 * few fields have arguments.
 */
const INTROSPECTION_LENGTHS: ReadonlyMap<string, number> = new Map([
  ['__Schema.types', 100],
  ['__Type.fields', 15],
  ['__Type.possibleTypes', 25],
  ['__Type.interfaces', 2],
  ['__Type.inputFields', 2],
  ['__Type.enumValues', 2],
  ['__Field.args', 1],
]);

/** Fields of a domain that read more than its row. */
const LISTS_OF_DOMAIN: ReadonlySet<string> = new Set(['dnsRecords', 'httpHeaders', 'parts']);

/** The arguments of the directive `@cost` of schema.graphql. */
interface FieldCost {
  readonly units: number;
  readonly each: string | null;
  readonly page: boolean;
  readonly search: boolean;
  readonly wide: boolean;
  readonly ifLists: boolean;
}

/** The costs of the fields of a schema, from its directives `@cost`. */
export class Costs {
  readonly #schema: GraphQLSchema;
  readonly #documents = new WeakMap<DocumentNode, Map<string | null, DocumentCost>>();

  constructor(schema: GraphQLSchema) {
    this.#schema = schema;
  }

  /** What an operation of a valid document costs. It is found once for each document. */
  of(document: DocumentNode, operation: OperationDefinitionNode): DocumentCost {
    const known = this.#documents.get(document) ?? new Map<string | null, DocumentCost>();
    this.#documents.set(document, known);
    const name = operation.name?.value ?? null;
    const cost = known.get(name) ?? measureOperation(this.#schema, document, operation);
    known.set(name, cost);
    return cost;
  }
}

function measureOperation(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): DocumentCost {
  const reader = new SelectionReader(schema, document);
  const root = schema.getRootType(operation.operation) ?? undefined;
  const whole = reader.selectionSet(operation.selectionSet, root);
  const fields = Array.from(reader.fieldsByName(operation.selectionSet), ([name, node]) => {
    return [name, reader.field(node, root)] as const;
  });
  const isStream = operation.operation === 'subscription';
  const [stream] = isStream ? reader.fieldsIn(operation.selectionSet) : [];
  const ofChange =
    stream?.selectionSet && reader.selectionSet(stream.selectionSet, typeOf(root, stream)).units;
  return {
    units: Math.floor((document.tokenCount ?? 0) / TOKENS_OF_UNIT),
    depth: whole.depth,
    isSearch: whole.isSearch,
    wideFields: whole.wideFields,
    hasCursor: whole.hasCursor,
    costWith(given) {
      const variables = withDefaults(given, operation);
      const units = new Map<string | number, number>();
      // Where all of it is left out, nothing is executed, and nothing of it is paid for.
      const isFree = amountWith(whole.units, variables) === 0;
      for (const [name, measure] of isFree ? [] : fields) {
        const cost = isStream
          ? (reader.costOf(root, stream)?.units ?? 0)
          : amountWith(measure.units, variables);
        if (cost > 0) units.set(name, cost);
      }
      return {
        units,
        unitsOfChange: ofChange === undefined ? 0 : amountWith(ofChange, variables),
        estimate: amountWith(whole.fields, variables),
      };
    },
  };
}

function typeOf(
  parent: GraphQLCompositeType | undefined,
  { name }: FieldNode,
): GraphQLCompositeType | undefined {
  const type = getNamedType(fieldOf(parent, name.value)?.type);
  return isCompositeType(type) ? type : undefined;
}

/** Reads selections of a document. Each fragment is measured once. */
class SelectionReader {
  readonly #schema: GraphQLSchema;
  readonly #definitions: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #fragments = new Map<string, Measure>();

  constructor(schema: GraphQLSchema, { definitions }: DocumentNode) {
    this.#schema = schema;
    this.#definitions = new Map(
      definitions.flatMap((node) =>
        node.kind === Kind.FRAGMENT_DEFINITION ? [[node.name.value, node]] : [],
      ),
    );
  }

  selectionSet({ selections }: SelectionSetNode, parent: GraphQLCompositeType | undefined): Measure {
    return selections
      .map((selection) => {
        const isIncluded = inclusionOf(selection.directives);
        if (selection.kind === Kind.FIELD) return times(isIncluded, this.field(selection, parent));
        if (selection.kind === Kind.FRAGMENT_SPREAD)
          return times(isIncluded, this.#fragment(selection.name.value));
        const condition = selection.typeCondition?.name.value;
        return times(
          isIncluded,
          this.selectionSet(selection.selectionSet, condition === undefined ? parent : this.#type(condition)),
        );
      })
      .reduce(together, NOTHING);
  }

  /** A field with what is selected in it. */
  field(node: FieldNode, parent: GraphQLCompositeType | undefined): Measure {
    const { arguments: given = [], selectionSet } = node;
    const cost = this.costOf(parent, node);
    const inside =
      selectionSet === undefined ? NOTHING : this.selectionSet(selectionSet, typeOf(parent, node));
    const length = lengthOf(parent, node, cost);
    const own = cost === undefined || (cost.ifLists && !this.#selectsLists(selectionSet)) ? 0 : cost.units;
    const of = cost?.each == null ? own : product(own, length);
    const further = cost?.page === true ? pagesBeyond(first(given)) : 0;
    return {
      units: sum(sum(of, further), product(length, inside.units)),
      fields: sum(1, product(length, inside.fields)),
      depth: inside.depth + 1,
      isSearch: inside.isSearch || cost?.search === true,
      wideFields: inside.wideFields + (cost?.wide === true ? 1 : 0),
      hasCursor: inside.hasCursor || isGiven(given, 'after'),
    };
  }

  /** The fields of a selection set by their names in the response, each with all that is selected in it. */
  fieldsByName(set: SelectionSetNode): ReadonlyMap<string, FieldNode> {
    const fields = new Map<string, FieldNode>();
    for (const node of this.fieldsIn(set)) {
      const { value: name } = node.alias ?? node.name;
      const selections = [fields.get(name), node].flatMap((each) => each?.selectionSet?.selections ?? []);
      const selectionSet: SelectionSetNode = { kind: Kind.SELECTION_SET, selections };
      fields.set(name, node.selectionSet === undefined ? node : { ...node, selectionSet });
    }
    return fields;
  }

  /** The fields of a selection set, and those of each of its fragments once. */
  *fieldsIn({ selections }: SelectionSetNode, visited = new Set<string>()): Generator<FieldNode> {
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) {
        yield selection;
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        yield* this.fieldsIn(selection.selectionSet, visited);
      } else if (!visited.has(selection.name.value)) {
        visited.add(selection.name.value);
        const definition = this.#definitions.get(selection.name.value);
        if (definition !== undefined) yield* this.fieldsIn(definition.selectionSet, visited);
      }
    }
  }

  costOf(parent: GraphQLCompositeType | undefined, node: FieldNode | undefined): FieldCost | undefined {
    const directive = this.#schema.getDirective('cost');
    const ast = node && fieldOf(parent, node.name.value)?.astNode;
    const values = directive && ast ? getDirectiveValues(directive, ast) : undefined;
    if (values === undefined) return undefined;
    return {
      units: Number(values['units']),
      each: typeof values['each'] === 'string' ? values['each'] : null,
      page: values['page'] === true,
      search: values['search'] === true,
      wide: values['wide'] === true,
      ifLists: values['ifLists'] === true,
    };
  }

  #fragment(name: string): Measure {
    const known = this.#fragments.get(name);
    const definition = this.#definitions.get(name);
    if (known !== undefined || definition === undefined) return known ?? NOTHING;
    const type = this.#type(definition.typeCondition.name.value);
    const measure = this.selectionSet(definition.selectionSet, type);
    const foundOnce = { ...measure, units: once(measure.units), fields: once(measure.fields) };
    this.#fragments.set(name, foundOnce);
    return foundOnce;
  }

  #selectsLists(set: SelectionSetNode | undefined): boolean {
    if (set === undefined) return false;
    // Of a page of domains, they are in its nodes.
    return [...this.fieldsIn(set)].some(({ name }) => LISTS_OF_DOMAIN.has(name.value));
  }

  #type(name: string): GraphQLCompositeType | undefined {
    const type = this.#schema.getType(name);
    return isCompositeType(type) ? type : undefined;
  }
}

function fieldOf(
  parent: GraphQLCompositeType | undefined,
  name: string,
): GraphQLField<unknown, unknown> | undefined {
  if (name === '__schema') return SchemaMetaFieldDef;
  if (name === '__type') return TypeMetaFieldDef;
  return isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[name] : undefined;
}

/** How many objects a field has. */
function lengthOf(
  parent: GraphQLCompositeType | undefined,
  { name, arguments: given = [] }: FieldNode,
  cost: FieldCost | undefined,
): Amount {
  if (cost?.page === true) return first(given);
  if (cost?.each != null) return lengthOfList(argument(given, cost.each));
  const type = fieldOf(parent, name.value)?.type;
  if (!isListType(getNullableType(type))) return 1;
  // Those of a page: the page has counted them.
  if (parent?.name.endsWith('Connection')) return 1;
  return INTROSPECTION_LENGTHS.get(`${parent?.name}.${name.value}`) ?? LIST_LENGTH;
}

function first(given: readonly ArgumentNode[]): Amount {
  const value = argument(given, 'first');
  if (value?.kind === Kind.VARIABLE) {
    const { value: name } = value.name;
    return (variables) => entriesOf(variables[name] ?? DEFAULT_FIRST);
  }
  return value?.kind === Kind.INT ? entriesOf(Number(value.value)) : DEFAULT_FIRST;
}

/** The resolver rejects what is no number of entries. */
function entriesOf(value: unknown): number {
  return typeof value === 'number' && value >= 1 ? value : 1;
}

/** What a page costs besides: 1 for each further 100 entries. */
function pagesBeyond(entries: Amount): Amount {
  const units = (count: number) => Math.max(0, Math.ceil(count / ENTRIES_OF_PAGE) - 1);
  return typeof entries === 'number' ? units(entries) : (variables) => units(entries(variables));
}

/** A value that is not a list is coerced to a list of one (GraphQL, section 3.11). */
function lengthOfList(value: ValueNode | undefined): Amount {
  if (value?.kind === Kind.LIST) return value.values.length;
  if (value?.kind !== Kind.VARIABLE) return 1;
  const { value: name } = value.name;
  return (variables) => {
    const list = variables[name];
    return Array.isArray(list) ? list.length : 1;
  };
}

function isGiven(given: readonly ArgumentNode[], name: string): boolean {
  const value = argument(given, name);
  return value !== undefined && value.kind !== Kind.NULL;
}

function argument(given: readonly ArgumentNode[], name: string): ValueNode | undefined {
  return given.find((each) => each.name.value === name)?.value;
}

/** 1 where a selection is included, 0 where `@skip` or `@include` leaves it out. */
function inclusionOf(directives: readonly DirectiveNode[] = []): Amount {
  return directives
    .map(({ name, arguments: given = [] }): Amount => {
      const excluding = name.value === 'skip';
      const value = argument(given, 'if');
      if (!excluding && name.value !== 'include') return 1;
      if (value?.kind === Kind.BOOLEAN) return value.value === excluding ? 0 : 1;
      if (value?.kind !== Kind.VARIABLE) return 1;
      const { value: variable } = value.name;
      return (variables) => (variables[variable] === excluding ? 0 : 1);
    })
    .reduce(product, 1);
}

/** The variables of a request, and the operation's defaults for those that it does not give. */
function withDefaults(given: Variables, { variableDefinitions = [] }: OperationDefinitionNode): Variables {
  const defaults: Record<string, unknown> = Object.create(null);
  for (const { variable, defaultValue } of variableDefinitions) {
    if (defaultValue !== undefined) defaults[variable.name.value] = valueFromASTUntyped(defaultValue);
  }
  return Object.assign(defaults, given);
}

function amountWith(amount: Amount, variables: Variables): number {
  return typeof amount === 'number' ? amount : amount(variables);
}

function sum(one: Amount, other: Amount): Amount {
  if (typeof one === 'number' && typeof other === 'number') return one + other;
  if (one === 0) return other;
  if (other === 0) return one;
  return (variables) => amountWith(one, variables) + amountWith(other, variables);
}

function product(one: Amount, other: Amount): Amount {
  if (typeof one === 'number' && typeof other === 'number') return one * other;
  if (one === 1) return other;
  if (other === 1) return one;
  return one === 0 || other === 0
    ? 0
    : (variables) => amountWith(one, variables) * amountWith(other, variables);
}

/** An amount that is found once for a request's variables, however often a fragment is spread in others. */
function once(amount: Amount): Amount {
  if (typeof amount === 'number') return amount;
  let of: Variables | undefined;
  let found = 0;
  return (variables) => {
    if (of !== variables) [of, found] = [variables, amount(variables)];
    return found;
  };
}

function together(one: Measure, other: Measure): Measure {
  return {
    units: sum(one.units, other.units),
    fields: sum(one.fields, other.fields),
    depth: Math.max(one.depth, other.depth),
    isSearch: one.isSearch || other.isSearch,
    wideFields: one.wideFields + other.wideFields,
    hasCursor: one.hasCursor || other.hasCursor,
  };
}

function times(count: Amount, measure: Measure): Measure {
  if (count === 1) return measure;
  return { ...measure, units: product(count, measure.units), fields: product(count, measure.fields) };
}

/** Fields in fields: the usual introspection query has 13, the schema itself 4. */
const MAX_DEPTH = 20;
/** How many fields of a document may read much of the database. */
const MAX_WIDE_FIELDS = 4;

/**
 * @param maxEstimate How many fields a response may have, about.
 * @throws PublicError QUERY_TOO_COMPLEX
 */
export function requireWithinLimits(cost: DocumentCost, request: RequestCost, maxEstimate: number): void {
  if (cost.depth > MAX_DEPTH) throw tooComplex(`The query has fields more than ${MAX_DEPTH} levels deep.`);
  if (cost.wideFields > MAX_WIDE_FIELDS) {
    throw tooComplex(`The query has more than ${MAX_WIDE_FIELDS} of groups, series and statistics.`);
  }
  if (request.estimate > maxEstimate) {
    throw tooComplex(`The query asks for about ${request.estimate} fields; ${maxEstimate} are allowed.`);
  }
}

function tooComplex(reason: string): PublicError {
  return new PublicError('QUERY_TOO_COMPLEX', `${reason} Ask for less in one request.`);
}
