import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getDirectiveValues,
  getNamedType,
  getNullableType,
  isAbstractType,
  isInterfaceType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
  type ValueNode,
  valueFromASTUntyped,
} from 'graphql';
import { PublicError } from '../model/errors.js';
import { sizeOf } from '../model/json-values.js';

/** The variables of a request, before coercion. */
export type Variables = Readonly<Record<string, unknown>>;

/** The arguments of `@cost`: schema.graphql says what they mean. */
type FieldCost = { readonly units?: number; readonly each?: string | null } & {
  readonly [Flag in 'page' | 'search' | 'wide' | 'primary' | 'ifLists']?: boolean;
};

type Field = GraphQLField<unknown, unknown>;
type Parent = GraphQLNamedType | undefined;

const NOTHING = {
  units: 0,
  /** Of the units of a field, those without what is selected in it. */
  own: 0,
  /** How many fields the response has, about: lists have the lengths that are asked for. */
  fields: 0,
  /** How many a compiler writes code for, about: of an interface or union once for each type. */
  written: 0,
  depth: 0,
  wideFields: 0,
  /** Whether one of its fields is a list of a domain. */
  hasLists: false,
  isSearch: false,
  /** Whether it is read from the primary: after a cursor, or where replicas may lack what the client knows. */
  ofPrimary: false,
};

type Measure = Readonly<typeof NOTHING>;

function sumOf(one: Measure, other: Measure): Measure {
  return {
    units: atMost(one.units + other.units),
    own: Math.max(one.own, other.own),
    fields: atMost(one.fields + other.fields),
    written: atMost(one.written + other.written),
    depth: Math.max(one.depth, other.depth),
    wideFields: one.wideFields + other.wideFields,
    hasLists: one.hasLists || other.hasLists,
    isSearch: one.isSearch || other.isSearch,
    ofPrimary: one.ofPrimary || other.ofPrimary,
  };
}

export interface RequestCost extends Omit<Measure, 'units'> {
  /** The units of each field of the root that costs something, by its name in the response. */
  readonly units: ReadonlyMap<string | number, number>;
  readonly sum: number;
  /** Of a subscription: the units of each change that is sent, besides those of the stream. */
  readonly unitsOfChange: number;
  /** 1 for each full 1,000 tokens of the document. */
  readonly unitsOfDocument: number;
}

export const NO_COST: RequestCost = {
  ...NOTHING,
  units: new Map(),
  sum: 0,
  unitsOfChange: 0,
  unitsOfDocument: 0,
};

const TOKENS_OF_UNIT = 1_000;
/** As how many fields one with arguments counts, besides their size: each may fail with an error. */
const FIELDS_OF_ARGUMENTS = 50;
/** In characters and values: a smaller argument does not count, so that most documents cost the same. */
const COUNTED_SIZE = 100;
/** Of a list that no argument limits. */
const LIST_LENGTH = 10;
/** The default of `first` in schema.graphql, and how many entries of a page its cost includes. */
export const DEFAULT_FIRST = 100;
/** In characters, of a field in the response, which may have it as often as a list has entries. */
const MAX_NAME = 100;
/** Fields in fields: the usual introspection query has 13, the schema itself 4. */
const MAX_DEPTH = 20;
/** Fields of a document that read much of the database. */
const MAX_WIDE_FIELDS = 4;

/** Of the lists of the schema itself: those that lead to fields again have their full lengths. */
const SCHEMA_LENGTHS: Readonly<Record<string, number>> = {
  types: 100,
  fields: 15,
  possibleTypes: 25,
  args: 1,
};
const SCHEMA_LIST_LENGTH = 2;

/** Fields of a domain for which it costs where it is reached from a page or a match. */
const LISTS_OF_DOMAIN: ReadonlySet<string> = new Set(['dnsRecords', 'httpHeaders', 'parts', 'rrsets']);

export class Costs {
  readonly #schema: GraphQLSchema;
  /** Of operations that cost the same with any variables. */
  readonly #known = new WeakMap<OperationDefinitionNode, RequestCost>();

  constructor(schema: GraphQLSchema) {
    this.#schema = schema;
  }

  /** @param document Valid. @throws PublicError QUERY_TOO_COMPLEX for a name that is too long. */
  of(document: DocumentNode, operation: OperationDefinitionNode, given: Variables): RequestCost {
    const measurement = new Measurement(this.#schema, document, valuesOf(operation, given));
    const known = this.#known.get(operation);
    if (known !== undefined && measurement.isForAll) return known;
    const cost = measurement.operation(operation);
    if (measurement.isForAll) this.#known.set(operation, cost);
    return cost;
  }
}

/** The variables that an operation has, with its defaults. Those given that it does not have may be many. */
function valuesOf({ variableDefinitions = [] }: OperationDefinitionNode, given: Variables): Variables {
  const values: Record<string, unknown> = Object.create(null);
  for (const { variable, defaultValue } of variableDefinitions) {
    const { value: name } = variable.name;
    if (Object.hasOwn(given, name)) values[name] = given[name];
    else if (defaultValue !== undefined) values[name] = valueFromASTUntyped(defaultValue);
  }
  return values;
}

/** @param maxFields Of a response, about. @throws PublicError QUERY_TOO_COMPLEX */
export function requireWithinLimits({ depth, wideFields, fields }: RequestCost, maxFields: number): void {
  if (depth > MAX_DEPTH) throw tooComplex(`The query has fields more than ${MAX_DEPTH} levels deep.`);
  if (wideFields > MAX_WIDE_FIELDS) {
    throw tooComplex(`The query asks for statistics more than ${MAX_WIDE_FIELDS} times.`);
  }
  if (fields > maxFields) {
    throw tooComplex(`The query asks for about ${fields} fields; ${maxFields} are allowed.`);
  }
}

/** Measures selections of a document with the variables of a request. Each selection set is measured once. */
class Measurement {
  /** Whether another request with the same document has the same result, unless its variables are long. */
  isForAll: boolean;
  readonly #schema: GraphQLSchema;
  readonly #document: DocumentNode;
  readonly #variables: Variables;
  /** Of the variables that count. */
  readonly #sizes = new Map<string, number>();
  readonly #fragments = new Map<string, FragmentDefinitionNode>();
  readonly #measured = new Map<SelectionSetNode, Measure>();

  constructor(schema: GraphQLSchema, document: DocumentNode, variables: Variables) {
    this.#schema = schema;
    this.#document = document;
    this.#variables = variables;
    for (const [name, value] of Object.entries(variables)) {
      const size = sizeOf(value);
      if (size >= COUNTED_SIZE) this.#sizes.set(name, size);
    }
    this.isForAll = this.#sizes.size === 0;
    for (const node of document.definitions)
      if (node.kind === Kind.FRAGMENT_DEFINITION) this.#fragments.set(node.name.value, node);
  }

  operation({ operation, selectionSet }: OperationDefinitionNode): RequestCost {
    const fields = this.#fieldsIn(selectionSet, this.#schema.getRootType(operation) ?? undefined);
    const whole = [...fields.values()].reduce(sumOf, NOTHING);
    const isStream = operation === 'subscription';
    const units = new Map(Array.from(fields, ([name, each]) => [name, isStream ? each.own : each.units]));
    const sum = [...units.values()].reduce((total, each) => total + each, 0);
    return {
      ...whole,
      units,
      sum,
      unitsOfChange: whole.units - sum,
      unitsOfDocument: Math.floor((this.#document.tokenCount ?? 0) / TOKENS_OF_UNIT),
    };
  }

  #selectionSet(set: SelectionSetNode, parent: Parent): Measure {
    const measure =
      this.#measured.get(set) ?? [...this.#fieldsIn(set, parent).values()].reduce(sumOf, NOTHING);
    this.#measured.set(set, measure);
    return measure;
  }

  /** The fields of a selection set and of its fragments, by name in the response (GraphQL, section 5.3.2). */
  #fieldsIn(
    { selections }: SelectionSetNode,
    parent: Parent,
    fields = new Map<string, Measure>(),
    visited = new Set<SelectionNode | FragmentDefinitionNode>(),
  ): ReadonlyMap<string, Measure> {
    for (const node of selections) {
      if (!this.#isIncluded(node)) continue;
      if (node.kind === Kind.FIELD) {
        const { value: name } = node.alias ?? node.name;
        const [field, other] = [this.#field(node, parent), fields.get(name) ?? NOTHING];
        const both = sumOf(field, other);
        fields.set(name, { ...both, units: both.units - Math.min(field.own, other.own) });
        continue;
      }
      const fragment = node.kind === Kind.INLINE_FRAGMENT ? node : this.#fragments.get(node.name.value);
      // A fragment that is spread again in the same selection set selects nothing more.
      if (fragment === undefined || visited.has(fragment)) continue;
      visited.add(fragment);
      const { typeCondition, selectionSet } = fragment;
      const type = typeCondition ? this.#schema.getType(typeCondition.name.value) : parent;
      this.#fieldsIn(selectionSet, type, fields, visited);
    }
    return fields;
  }

  #field(node: FieldNode, parent: Parent): Measure {
    const { name, alias = name, selectionSet, arguments: given } = node;
    if (alias.value.length > MAX_NAME) {
      throw tooComplex(`The query has a name of more than ${MAX_NAME} characters.`);
    }
    const field = fieldOf(parent, name.value);
    const cost = costOf(this.#schema, field);
    const inside = selectionSet ? this.#selectionSet(selectionSet, getNamedType(field?.type)) : NOTHING;
    const length = this.#lengthOf(node, field, cost, parent);
    const further = cost.page ? Math.max(0, Math.ceil(length / DEFAULT_FIRST) - 1) : 0;
    const types = isAbstractType(parent) ? this.#schema.getPossibleTypes(parent).length : 1;
    const isFree = cost.ifLists && !inside.hasLists;
    const own = atMost(isFree ? 0 : (cost.units ?? 0) * (cost.each ? length : 1) + further);
    return {
      own,
      units: atMost(own + length * inside.units),
      fields: atMost(this.#fieldsOf(given, parent) + length * inside.fields),
      written: atMost(types * (1 + inside.written)),
      depth: inside.depth + 1,
      hasLists: LISTS_OF_DOMAIN.has(name.value),
      isSearch: inside.isSearch || cost.search === true,
      wideFields: inside.wideFields + (cost.wide ? 1 : 0),
      ofPrimary: inside.ofPrimary || cost.primary === true || this.#argument(given, 'after') != null,
    };
  }

  #lengthOf(node: FieldNode, field: Field | undefined, { page, each }: FieldCost, parent: Parent): number {
    const { name, arguments: given } = node;
    if (page) {
      const first = this.#argument(given, 'first') ?? DEFAULT_FIRST;
      // What is no number of entries is rejected later.
      return Number.isSafeInteger(first) && Number(first) >= 1 ? Number(first) : 1;
    }
    if (each) {
      // A value that is not a list is coerced to a list of one (GraphQL, section 3.11).
      const list = this.#argument(given, each);
      return Array.isArray(list) ? list.length : 1;
    }
    // Those of a page: the page has counted them.
    const isOfPage = parent?.name.endsWith('Connection');
    if (isOfPage || !isListType(getNullableType(field?.type))) return 1;
    if (!parent?.name.startsWith('__')) return LIST_LENGTH;
    return SCHEMA_LENGTHS[name.value] ?? SCHEMA_LIST_LENGTH;
  }

  #isIncluded({ directives = [] }: SelectionNode): boolean {
    return directives.every(({ name, arguments: given }) => {
      if (name.value !== 'skip' && name.value !== 'include') return true;
      return this.#argument(given, 'if') !== (name.value === 'skip');
    });
  }

  #argument(given: FieldNode['arguments'] = [], name: string): unknown {
    const value = given.find((each) => each.name.value === name)?.value;
    if (value?.kind === Kind.VARIABLE) this.isForAll = false;
    return value && valueFromASTUntyped(value, this.#variables);
  }

  /** As how many fields one counts by its arguments. What is read of the schema itself cannot fail. */
  #fieldsOf(given: FieldNode['arguments'] = [], parent: Parent): number {
    if (given.length === 0 || parent?.name.startsWith('__')) return 1;
    const size = (node: ValueNode) => Math.floor(this.#sizeOf(node) / COUNTED_SIZE) * COUNTED_SIZE;
    return given.reduce((sum, { value }) => sum + size(value), FIELDS_OF_ARGUMENTS);
  }

  /** As sizeOf() counts a value. */
  #sizeOf(node: ValueNode): number {
    if (node.kind === Kind.VARIABLE) return this.#sizes.get(node.name.value) ?? 0;
    if (node.kind === Kind.LIST) return node.values.reduce((sum, each) => sum + this.#sizeOf(each), 1);
    if (node.kind === Kind.OBJECT)
      return node.fields.reduce((sum, each) => sum + this.#sizeOf(each.value), 1);
    return 1 + ('value' in node ? String(node.value).length : 0);
  }
}

function fieldOf(parent: Parent, name: string): Field | undefined {
  if (name === SchemaMetaFieldDef.name) return SchemaMetaFieldDef;
  if (name === TypeMetaFieldDef.name) return TypeMetaFieldDef;
  return isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[name] : undefined;
}

/** By field: to read a directive takes longer than all else of a field. */
const COSTS = new WeakMap<Field, FieldCost>();

function costOf(schema: GraphQLSchema, field: Field | undefined): FieldCost {
  const directive = schema.getDirective('cost');
  if (!directive || !field?.astNode) return {};
  const cost = COSTS.get(field) ?? getDirectiveValues(directive, field.astNode) ?? {};
  COSTS.set(field, cost);
  return cost;
}

/** Fragments in fragments stand for more than a number can have. */
function atMost(amount: number): number {
  return Math.min(amount, Number.MAX_SAFE_INTEGER);
}

function tooComplex(reason: string): PublicError {
  return new PublicError('QUERY_TOO_COMPLEX', `${reason} Ask for less in one request.`);
}
