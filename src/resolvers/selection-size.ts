import {
  type FieldNode,
  type FragmentSpreadNode,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  getNamedType,
  type InlineFragmentNode,
  isAbstractType,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from 'graphql';

import { isJsonObject } from '../model/json-values.js';
import { rdataText } from '../model/rdata-presentation.js';
import { RENAMED_FIELDS } from './DnsRecord.js';
import type { Size } from './request-budget.js';
import { ENTRIES_OF_PART, type InParts, MILLISECONDS_OF_PART } from './select-entries.js';

/** Where a field was selected: part of GraphQLResolveInfo. */
export type Selecting = Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments' | 'schema'>;

/** How often a field is selected in an object, under whichever names. */
interface FieldUse {
  /** Of the objects that have the field. */
  readonly property: string;
  readonly count: number;
  /** The octets of all its response names, with their punctuation. */
  readonly names: number;
  /** What is selected in the objects of the field, under all its names together. Undefined: it has no objects. */
  readonly inside: Inside | undefined;
}

type Uses = readonly FieldUse[];

/** What is selected in the objects of a field. */
interface Inside {
  /** Where all objects have one type: most do. */
  readonly only?: Uses | undefined;
  /** The name of an object's type. */
  readonly typeOf: (object: unknown) => string;
  readonly byType: ReadonlyMap<string, Uses>;
}

/** Quotation marks, colon, comma. */
const PUNCTUATION = 4;
const QUOTATION_MARKS = 2;
/** A number, `true`, `false`, `null`, or the name of a type. */
const LITERAL = 14;
/** Of a name of average length. */
const OCTETS_OF_ID = 100;
/** `"YYYY-MM-DDTHH:MM:SS.ffffffZ",` */
const TIMESTAMP = 30;

/**
 * A node belongs to one document, which may be executed many times: what it selects never changes. Only for fields of
 * one node: one that a fragment brings to several places may be joined with others in some of them.
 */
const usesOfNode = new WeakMap<FieldNode, Map<string, Uses>>();

/**
 * The size of objects in the answer, under all names that the field's selection gives their fields. It takes
 * as long as reading them once, however often the selection repeats a field. What `@skip` or `@include` leaves
 * out counts as selected.
 *
 * @param typeOf The name of an object's type.
 * @param most Beyond it, the rest is not measured.
 */
export function* sizeOfObjects<Value extends object>(
  objects: readonly Value[],
  typeOf: (object: Value) => string,
  selecting: Selecting,
  most: Size,
): InParts<Size> {
  const size: Sum = { values: 0, octets: 0, work: 0 };
  const known = usesKnownOf(selecting.fieldNodes);
  for (const object of objects) {
    if (size.values > most.values || size.octets > most.octets) break;
    if (size.work > WORK_OF_PART) {
      size.work = 0;
      yield MILLISECONDS_OF_PART;
    }
    size.values += 1;
    const type = typeOf(object);
    let uses = known.get(type);
    if (uses === undefined) {
      uses = usesFor(type, selecting);
      known.set(type, uses);
    }
    if (isJsonObject(object)) addObject(size, object, uses);
  }
  yield (size.work / WORK_OF_PART) * MILLISECONDS_OF_PART;
  return size;
}

function usesKnownOf([node, ...others]: readonly FieldNode[]): Map<string, Uses> {
  if (node === undefined || others.length > 0) return new Map();
  const known = usesOfNode.get(node) ?? new Map<string, Uses>();
  usesOfNode.set(node, known);
  return known;
}

function usesFor(typeName: string, { fieldNodes, ...document }: Selecting): Uses {
  const type = document.schema.getType(typeName);
  const sets = fieldNodes.flatMap(({ selectionSet }) => selectionSet ?? []);
  return isObjectType(type) ? usesIn(sets, type, document) : [];
}

type Document = Pick<Selecting, 'fragments' | 'schema'>;

function usesIn(sets: readonly SelectionSetNode[], type: GraphQLObjectType, document: Document): Uses {
  const uses: FieldUse[] = [];
  const setOf = (fragment: Fragment) => setFor(type, fragment, document);
  for (const [name, nodes] of fieldsByName(sets, setOf)) {
    const field = nodes[0]?.name.value ?? name;
    const innerSets = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
    const inside = insideOf(getNamedType(type.getFields()[field]?.type), innerSets, document);
    const property = RENAMED_FIELDS.get(field) ?? field;
    // It is written from the other properties.
    const written = field === 'id' ? OCTETS_OF_ID : 0;
    uses.push({ property, count: 1, names: name.length + PUNCTUATION + written, inside });
  }
  return together(uses);
}

function insideOf(
  type: GraphQLNamedType | undefined,
  sets: readonly SelectionSetNode[],
  document: Document,
): Inside | undefined {
  if (isObjectType(type)) {
    return insideObjects(() => type.name, [[type.name, usesIn(sets, type, document)]]);
  }
  if (!isAbstractType(type)) return undefined;
  const types = document.schema.getPossibleTypes(type);
  return insideObjects(
    (object) => String(Reflect.apply(type.resolveType ?? String, undefined, [object])),
    types.map((each) => [each.name, usesIn(sets, each, document)]),
  );
}

function insideObjects(
  typeOf: Inside['typeOf'],
  uses: readonly (readonly [type: string, uses: Uses])[],
): Inside {
  return { only: uses.length === 1 ? uses[0]?.[1] : undefined, typeOf, byType: new Map(uses) };
}

/** A fragment in a selection. */
type Fragment = FragmentSpreadNode | InlineFragmentNode;

/**
 * The fields of selections by their names in the response (GraphQL, section 6.3.2), in fragments too, but not inside
 * other fields. A fragment that is spread many times adds its fields once.
 *
 * @param setOf What a fragment selects; undefined: nothing.
 */
export function fieldsByName(
  sets: readonly SelectionSetNode[],
  setOf: (fragment: Fragment) => SelectionSetNode | undefined,
): ReadonlyMap<string, readonly FieldNode[]> {
  const fields = new Map<string, FieldNode[]>();
  const visited = new Set<SelectionSetNode>();
  const visit = (set: SelectionSetNode | undefined): void => {
    if (set === undefined || visited.has(set)) return;
    visited.add(set);
    for (const selection of set.selections) {
      if (selection.kind === Kind.FIELD) add(fields, selection);
      else visit(setOf(selection));
    }
  };
  for (const set of sets) visit(set);
  return fields;
}

function add(fields: Map<string, FieldNode[]>, field: FieldNode): void {
  const name = (field.alias ?? field.name).value;
  const same = fields.get(name);
  if (same === undefined) fields.set(name, [field]);
  else same.push(field);
}

/** What a fragment selects of objects of a type; undefined where it is for other types. */
function setFor(
  type: GraphQLObjectType,
  selection: Fragment,
  { fragments, schema }: Document,
): SelectionSetNode | undefined {
  const fragment = selection.kind === Kind.FRAGMENT_SPREAD ? fragments[selection.name.value] : selection;
  const condition = fragment?.typeCondition?.name.value;
  if (condition === undefined || condition === type.name) return fragment?.selectionSet;
  const general = schema.getType(condition);
  return isAbstractType(general) && schema.isSubType(general, type) ? fragment?.selectionSet : undefined;
}

/** Those of one property as one. */
function together(uses: readonly FieldUse[]): Uses {
  const joined = new Map<string, FieldUse>();
  for (const use of uses) {
    const before = joined.get(use.property);
    joined.set(use.property, before === undefined ? use : sumOf(before, use));
  }
  return [...joined.values()];
}

function sumOf(one: FieldUse, other: FieldUse): FieldUse {
  return {
    property: one.property,
    count: one.count + other.count,
    names: one.names + other.names,
    inside: one.inside && other.inside && bothInside(one.inside, other.inside),
  };
}

/** Two selections of one property: its objects have the same types in both. */
function bothInside({ typeOf, byType }: Inside, other: Inside): Inside {
  const joined = [...byType].map(
    ([type, uses]) => [type, together([...uses, ...(other.byType.get(type) ?? [])])] as const,
  );
  return insideObjects(typeOf, joined);
}

/** Escaping so many characters takes as long as visiting an object, or an entry of a list. */
const WORK_OF_ENTRY = 32;
const WORK_OF_PART = ENTRIES_OF_PART * WORK_OF_ENTRY;

/** A size, and what was done in a part of the work: integers, which are added without being allocated. */
type Sum = { -readonly [Key in keyof Size]: Size[Key] } & { work: number };

function addObject(sum: Sum, object: Readonly<Record<string, unknown>>, uses: Uses): void {
  sum.work += WORK_OF_ENTRY;
  for (const use of uses) {
    const value = object[use.property] ?? derived(object, use.property);
    sum.octets += use.names;
    if (Array.isArray(value)) addList(sum, value, use);
    else if (use.inside !== undefined && isJsonObject(value)) addInner(sum, value, use.inside, use.count);
    else addLeaf(sum, value, use.count);
  }
}

function addInner(
  sum: Sum,
  object: Readonly<Record<string, unknown>>,
  { only, typeOf, byType }: Inside,
  count: number,
): void {
  sum.values += count;
  addObject(sum, object, only ?? byType.get(typeOf(object)) ?? NOTHING);
}

function addList(sum: Sum, entries: readonly unknown[], { count, inside }: FieldUse): void {
  sum.values += count;
  sum.work += entries.length * WORK_OF_ENTRY;
  for (const entry of entries) {
    if (inside !== undefined && isJsonObject(entry)) {
      addInner(sum, entry, inside, count);
    } else {
      addLeaf(sum, entry, count);
    }
  }
}

/** `data` of a record whose type has fields of its own follows from these. */
function derived(object: Readonly<Record<string, unknown>>, property: string): string | undefined {
  return property === 'data' ? rdataText(String(object['type']), object) : undefined;
}

const NOTHING: Uses = [];

function addLeaf(sum: Sum, value: unknown, count: number): void {
  sum.values += count;
  sum.octets += count * octetsOf(value);
  if (typeof value === 'string') sum.work += value.length;
}

/** What JSON writes in more than one octet: what it escapes (RFC 8259, section 7), and characters outside ASCII. */
const LONGER = /[^\x20\x21\x23-\x5b\x5d-\x7e]/;

function octetsOf(value: unknown): number {
  if (typeof value === 'string') {
    const octets = LONGER.test(value)
      ? Buffer.byteLength(JSON.stringify(value)) - QUOTATION_MARKS
      : value.length;
    return octets + PUNCTUATION;
  }
  return typeof value === 'bigint' ? TIMESTAMP : LITERAL;
}
