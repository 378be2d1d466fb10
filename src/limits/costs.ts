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
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
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

/** What is selected in one place, fragments included. */
interface Measure {
  /** The cost of its fields. */
  readonly units: number;
  /** How many fields there are, those in lists as often as they are asked for. */
  readonly fields: number;
  /** Fields in fields. */
  readonly depth: number;
  /** Whether it takes a place for searches. */
  readonly isSearch: boolean;
  /** How many of its fields read much of the database. */
  readonly wideFields: number;
  /** Whether it may continue after a cursor. */
  readonly hasCursor: boolean;
}

/** What follows from a document alone. Its units are 1 for each full 1,000 tokens. */
export interface DocumentCost extends Omit<Measure, 'fields'> {
  costWith(variables: Variables): RequestCost;
}

const NOTHING: Measure = {
  ...{ units: 0, fields: 0, depth: 0 },
  ...{ isSearch: false, wideFields: 0, hasCursor: false },
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

const NO_COST: FieldCost = {
  ...{ units: 0, each: null },
  ...{ page: false, search: false, wide: false, ifLists: false },
};

type Field = GraphQLField<unknown, unknown>;

/** The costs of the fields of a schema, from its directives `@cost`. */
export class Costs {
  readonly schema: GraphQLSchema;
  readonly #fields = new Map<Field, FieldCost>();
  readonly #documents = new WeakMap<DocumentNode, Map<string | undefined, DocumentCost>>();

  constructor(schema: GraphQLSchema) {
    this.schema = schema;
    const directive = schema.getDirective('cost');
    for (const type of Object.values(schema.getTypeMap())) {
      const fields = isObjectType(type) || isInterfaceType(type) ? Object.values(type.getFields()) : [];
      for (const field of fields) {
        const values = directive && field.astNode ? getDirectiveValues(directive, field.astNode) : undefined;
        if (values !== undefined) this.#fields.set(field, costFrom(values));
      }
    }
  }

  /** What an operation of a valid document costs. It is measured once for each document, and for variables that matter. */
  of(document: DocumentNode, operation: OperationDefinitionNode): DocumentCost {
    const known = this.#documents.get(document) ?? new Map<string | undefined, DocumentCost>();
    this.#documents.set(document, known);
    const name = operation.name?.value;
    const cost = known.get(name) ?? costOfDocument(this, document, operation);
    known.set(name, cost);
    return cost;
  }

  costOfField(field: Field | undefined): FieldCost {
    return (field && this.#fields.get(field)) ?? NO_COST;
  }
}

function costFrom(values: Readonly<Record<string, unknown>>): FieldCost {
  const { units, each, page, search, wide, ifLists } = values;
  return {
    units: Number(units),
    each: typeof each === 'string' ? each : null,
    ...{ page: page === true, search: search === true, wide: wide === true, ifLists: ifLists === true },
  };
}

function costOfDocument(
  costs: Costs,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): DocumentCost {
  const root = costs.schema.getRootType(operation.operation) ?? undefined;
  const measurement = new Measurement(costs, document, {});
  // A selection that a variable may leave out is there: so all variables are read on which the cost depends.
  const whole = measurement.selectionSet(operation.selectionSet, root);
  const known = new Map<string, RequestCost>();
  return {
    ...whole,
    units: Math.floor((document.tokenCount ?? 0) / TOKENS_OF_UNIT),
    costWith(given) {
      const variables = withDefaults(given, operation);
      const key = Array.from(measurement.read, (name) => shapeOf(variables[name])).join();
      const cost =
        known.get(key) ?? costOfRequest(new Measurement(costs, document, variables), operation, root);
      if (known.size >= MAX_KNOWN) known.clear();
      known.set(key, cost);
      return cost;
    },
  };
}

/** For so many different values of its variables, what a document costs is kept. */
const MAX_KNOWN = 100;

/** What the cost depends on of a variable. */
function shapeOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.length}]`;
  const isAmount = typeof value === 'number' || typeof value === 'boolean';
  return isAmount ? String(value) : typeof (value ?? undefined);
}

function costOfRequest(
  measurement: Measurement,
  { operation, selectionSet }: OperationDefinitionNode,
  root: GraphQLCompositeType | undefined,
): RequestCost {
  const whole = measurement.selectionSet(selectionSet, root);
  const units = new Map<string, number>();
  let unitsOfChange = 0;
  // Where all of it is left out, nothing is executed, and nothing of it is paid for.
  for (const [name, node] of whole.units === 0 ? [] : measurement.fieldsByName(selectionSet)) {
    const field = measurement.field(node, root);
    const own = operation === 'subscription' ? measurement.costOf(node, root).units : field.units;
    if (operation === 'subscription') unitsOfChange = field.units - own;
    if (own > 0) units.set(name, own);
  }
  return { units, unitsOfChange, estimate: whole.fields };
}

/** The variables of a request, and the operation's defaults for those that it does not give. */
function withDefaults(given: Variables, { variableDefinitions = [] }: OperationDefinitionNode): Variables {
  const defaults: Record<string, unknown> = Object.create(null);
  for (const { variable, defaultValue } of variableDefinitions) {
    if (defaultValue !== undefined) defaults[variable.name.value] = valueFromASTUntyped(defaultValue);
  }
  return Object.assign(defaults, given);
}

/** Measures selections of a document with the variables of a request. Each fragment is measured once. */
class Measurement {
  /** The names of the variables that the result depends on. */
  readonly read = new Set<string>();
  readonly #costs: Costs;
  readonly #variables: Variables;
  readonly #definitions: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #fragments = new Map<string, Measure>();

  constructor(costs: Costs, { definitions }: DocumentNode, variables: Variables) {
    this.#costs = costs;
    this.#variables = variables;
    this.#definitions = new Map(
      definitions.flatMap((node) =>
        node.kind === Kind.FRAGMENT_DEFINITION ? [[node.name.value, node]] : [],
      ),
    );
  }

  selectionSet({ selections }: SelectionSetNode, parent: GraphQLCompositeType | undefined): Measure {
    return selections
      .filter(({ directives }) => this.#isIncluded(directives))
      .map((selection) => this.#selection(selection, parent))
      .reduce(together, NOTHING);
  }

  #selection(selection: SelectionNode, parent: GraphQLCompositeType | undefined): Measure {
    if (selection.kind === Kind.FIELD) return this.field(selection, parent);
    if (selection.kind === Kind.FRAGMENT_SPREAD) return this.#fragment(selection.name.value);
    const condition = selection.typeCondition?.name.value;
    return this.selectionSet(
      selection.selectionSet,
      condition === undefined ? parent : this.#type(condition),
    );
  }

  /** A field with what is selected in it. */
  field(node: FieldNode, parent: GraphQLCompositeType | undefined): Measure {
    const { arguments: given = [], selectionSet } = node;
    if ((node.alias ?? node.name).value.length > MAX_NAME) {
      throw tooComplex(`The query has a name of more than ${MAX_NAME} characters.`);
    }
    const cost = this.costOf(node, parent);
    const type = getNamedType(fieldOf(parent, node.name.value)?.type);
    const inside =
      selectionSet === undefined
        ? NOTHING
        : this.selectionSet(selectionSet, isCompositeType(type) ? type : undefined);
    const length = this.#lengthOf(node, parent, cost);
    const own = cost.ifLists && !this.#selectsLists(selectionSet) ? 0 : cost.units;
    const further = cost.page ? Math.max(0, Math.ceil(length / ENTRIES_OF_PAGE) - 1) : 0;
    return {
      units: atMost(own * (cost.each === null ? 1 : length) + further + length * inside.units),
      fields: atMost(1 + length * inside.fields),
      depth: inside.depth + 1,
      isSearch: inside.isSearch || cost.search,
      wideFields: inside.wideFields + (cost.wide ? 1 : 0),
      hasCursor: inside.hasCursor || isGiven(given, 'after'),
    };
  }

  costOf({ name }: FieldNode, parent: GraphQLCompositeType | undefined): FieldCost {
    return this.#costs.costOfField(fieldOf(parent, name.value));
  }

  /** The fields of a selection set by their names in the response, each with all that is selected in it. */
  fieldsByName(set: SelectionSetNode): ReadonlyMap<string, FieldNode> {
    const fields = new Map<string, FieldNode>();
    for (const node of this.#fieldsIn(set)) {
      const { value: name } = node.alias ?? node.name;
      const selections = [fields.get(name), node].flatMap((each) => each?.selectionSet?.selections ?? []);
      const selectionSet: SelectionSetNode = { kind: Kind.SELECTION_SET, selections };
      fields.set(name, node.selectionSet === undefined ? node : { ...node, selectionSet });
    }
    return fields;
  }

  /** The fields of a selection set, and those of each of its fragments once; those that are left out, too. */
  *#fieldsIn({ selections }: SelectionSetNode, visited = new Set<string>()): Generator<FieldNode> {
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) {
        yield selection;
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        yield* this.#fieldsIn(selection.selectionSet, visited);
      } else if (!visited.has(selection.name.value)) {
        visited.add(selection.name.value);
        const definition = this.#definitions.get(selection.name.value);
        if (definition !== undefined) yield* this.#fieldsIn(definition.selectionSet, visited);
      }
    }
  }

  /** How many objects a field has. */
  #lengthOf(node: FieldNode, parent: GraphQLCompositeType | undefined, { page, each }: FieldCost): number {
    if (page) {
      const first = this.#argument(node.arguments, 'first') ?? DEFAULT_FIRST;
      // What is no number of entries is rejected later.
      return Number.isSafeInteger(first) && Number(first) >= 1 ? Number(first) : 1;
    }
    if (each !== null) {
      // A value that is not a list is coerced to a list of one (GraphQL, section 3.11).
      const list = this.#argument(node.arguments, each);
      return Array.isArray(list) ? list.length : 1;
    }
    if (!isListType(getNullableType(fieldOf(parent, node.name.value)?.type))) return 1;
    // Those of a page: the page has counted them.
    if (parent?.name.endsWith('Connection')) return 1;
    return INTROSPECTION_LENGTHS.get(`${parent?.name}.${node.name.value}`) ?? LIST_LENGTH;
  }

  #isIncluded(directives: readonly DirectiveNode[] = []): boolean {
    return directives.every(({ name, arguments: given }) => {
      if (name.value !== 'skip' && name.value !== 'include') return true;
      return this.#argument(given, 'if') !== (name.value === 'skip');
    });
  }

  #argument(given: readonly ArgumentNode[] = [], name: string): unknown {
    const value = given.find((each) => each.name.value === name)?.value;
    if (value?.kind === Kind.VARIABLE) this.read.add(value.name.value);
    return value && valueFromASTUntyped(value, this.#variables);
  }

  #fragment(name: string): Measure {
    const definition = this.#definitions.get(name);
    if (definition === undefined) return NOTHING;
    const { typeCondition, selectionSet } = definition;
    const measure =
      this.#fragments.get(name) ?? this.selectionSet(selectionSet, this.#type(typeCondition.name.value));
    this.#fragments.set(name, measure);
    return measure;
  }

  #selectsLists(set: SelectionSetNode | undefined): boolean {
    // Of a page of domains, they are in its nodes.
    return set !== undefined && [...this.#fieldsIn(set)].some(({ name }) => LISTS_OF_DOMAIN.has(name.value));
  }

  #type(name: string): GraphQLCompositeType | undefined {
    const type = this.#costs.schema.getType(name);
    return isCompositeType(type) ? type : undefined;
  }
}

function fieldOf(parent: GraphQLCompositeType | undefined, name: string): Field | undefined {
  if (name === '__schema') return SchemaMetaFieldDef;
  if (name === '__type') return TypeMetaFieldDef;
  return isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[name] : undefined;
}

function isGiven(given: readonly ArgumentNode[], name: string): boolean {
  return given.some((each) => each.name.value === name && each.value.kind !== Kind.NULL);
}

/** Fragments in fragments stand for more than a number can have. */
function atMost(amount: number): number {
  return Math.min(amount, Number.MAX_SAFE_INTEGER);
}

function together(one: Measure, other: Measure): Measure {
  return {
    units: atMost(one.units + other.units),
    fields: atMost(one.fields + other.fields),
    depth: Math.max(one.depth, other.depth),
    isSearch: one.isSearch || other.isSearch,
    wideFields: one.wideFields + other.wideFields,
    hasCursor: one.hasCursor || other.hasCursor,
  };
}

/** Fields in fields: the usual introspection query has 13, the schema itself 4. */
const MAX_DEPTH = 20;
/** In characters, of a field in the response, which may have it as often as a list has entries. */
const MAX_NAME = 100;
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
