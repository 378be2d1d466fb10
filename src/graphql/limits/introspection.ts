import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  type SelectionSetNode,
  TypeMetaFieldDef,
} from 'graphql';
import type { Size } from '../../resolvers/request-budget.js';
import { MOST_OCTETS_OF_SCHEMA, MOST_VALUES_OF_SCHEMA, tooComplex } from './limits.js';

/** What an operation selects of the schema itself. */
export interface Introspection extends Size {
  /** Whether it selects nothing else. */
  readonly isAll: boolean;
}

/** The fragments of a document by their names. */
export type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/** Parts of the schema, such as types, each with how often it is in the result. */
interface Objects {
  readonly type: GraphQLObjectType;
  readonly counts: ReadonlyMap<unknown, number>;
  /** The sum of the counts. */
  readonly count: number;
}

/** A field of some objects: its own size, and the objects that it gives. */
interface FieldOfObjects extends Size {
  readonly objects: Objects | undefined;
}

/** In characters: quotation marks, colon and comma of a member; the braces of an object, and its comma. */
const [OF_MEMBER, OF_OBJECT] = [4, 4];

/** The arguments of meta fields: what is deprecated counts. */
const EVERYTHING = { includeDeprecated: true };

/**
 * The size of what an operation selects of the schema: exact, since the schema does not change, but that directives
 * count as if they left nothing out, fields that are repeated under one name count each time, and a type that a variable
 * names counts as all types.
 *
 * Lists in lists multiply: 490 times the fields of all possible types are 7.7 MB, of a query of 47 kB. So it is known before
 * any of it is made, by counting each part of the schema once for each path to it.
 *
 * @param fragments None of them spreads itself.
 * @returns undefined where it selects nothing of the schema.
 * @throws QueryTooComplexError
 */
export function introspectionOf(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  fragments: Fragments,
): Introspection | undefined {
  const known = new Map<Objects, Map<string, FieldOfObjects>>();
  let [values, octets] = [0, 0];
  let [isAll, isAny] = [true, false];
  const add = (size: Size) => {
    values += size.values;
    octets += size.octets;
    if (values > MOST_VALUES_OF_SCHEMA) tooMuch(MOST_VALUES_OF_SCHEMA, 'values');
    if (octets > MOST_OCTETS_OF_SCHEMA) tooMuch(MOST_OCTETS_OF_SCHEMA, 'octets');
  };
  const fieldOf = (objects: Objects, name: string): FieldOfObjects => {
    const fields = known.get(objects) ?? new Map<string, FieldOfObjects>();
    known.set(objects, fields);
    const found = fields.get(name) ?? measureField(schema, objects, name);
    fields.set(name, found);
    return found;
  };
  const visit = (set: SelectionSetNode, objects: Objects): void => {
    for (const { name, alias, selectionSet } of fieldsIn(set, fragments)) {
      const field = fieldOf(objects, name.value);
      const ofNames = objects.count * ((alias ?? name).value.length + OF_MEMBER);
      add({ values: field.values, octets: field.octets + ofNames });
      if (field.objects !== undefined && selectionSet !== undefined) visit(selectionSet, field.objects);
    }
  };
  for (const field of fieldsIn(operation.selectionSet, fragments)) {
    const objects = metaObjects(schema, field);
    isAll &&= objects !== undefined || field.name.value === '__typename';
    if (objects === undefined || field.selectionSet === undefined) continue;
    isAny = true;
    add({ values: objects.count, octets: OF_OBJECT });
    visit(field.selectionSet, objects);
  }
  return isAny ? { values, octets, isAll } : undefined;
}

function tooMuch(most: number, what: string): never {
  tooComplex(`The query selects more than ${most} ${what} of the schema.`);
}

/** What a field of the query itself gives of the schema; undefined for any other field. */
function metaObjects(schema: GraphQLSchema, { name, arguments: given = [] }: FieldNode): Objects | undefined {
  if (name.value === '__schema') return objectsOf(SchemaMetaFieldDef, [[schema, 1]]);
  if (name.value !== '__type') return undefined;
  const wanted = given.find((argument) => argument.name.value === 'name')?.value;
  const types =
    wanted?.kind === Kind.STRING ? [schema.getType(wanted.value)] : Object.values(schema.getTypeMap());
  return objectsOf(
    TypeMetaFieldDef,
    types.map((type) => [type ?? null, 1]),
  );
}

/** @returns undefined where the field has no objects but values. */
function objectsOf(
  { type }: Pick<GraphQLField<unknown, unknown>, 'type'>,
  entries: readonly (readonly [unknown, number])[],
): Objects | undefined {
  const named = getNamedType(type);
  if (!isObjectType(named)) return undefined;
  const counts = new Map<unknown, number>();
  for (const [object, times] of entries) {
    if (object !== null) counts.set(object, (counts.get(object) ?? 0) + times);
  }
  return { type: named, counts, count: [...counts.values()].reduce((sum, times) => sum + times, 0) };
}

function measureField(schema: GraphQLSchema, { type, counts, count }: Objects, name: string): FieldOfObjects {
  if (name === '__typename') {
    return { values: count, octets: count * (type.name.length + 2), objects: undefined };
  }
  const field = type.getFields()[name];
  if (field === undefined) return { values: 0, octets: 0, objects: undefined };
  // What graphql-js' own resolver gives for each object, each as often as the object.
  const entries = [...counts].flatMap(([object, times]) => {
    const value: unknown = Reflect.apply(field.resolve ?? nothing, undefined, [
      object,
      EVERYTHING,
      undefined,
      { schema },
    ]);
    return (Array.isArray(value) ? value : [value]).map((entry: unknown) => [entry ?? null, times] as const);
  });
  const objects = objectsOf(field, entries);
  const values = sumOf(entries, () => 1);
  const octets = sumOf(entries, (entry) =>
    objects === undefined ? JSON.stringify(entry).length : OF_OBJECT,
  );
  return { values, octets, objects };
}

function nothing(): void {}

function sumOf(entries: readonly (readonly [unknown, number])[], sizeOf: (entry: unknown) => number): number {
  return entries.reduce((sum, [entry, times]) => sum + sizeOf(entry) * times, 0);
}

/** The fields of a selection set, those of its fragments where these are spread. */
export function* fieldsIn({ selections }: SelectionSetNode, fragments: Fragments): Generator<FieldNode> {
  for (const selection of selections) {
    if (selection.kind === Kind.FIELD) {
      yield selection;
      continue;
    }
    const isSpread = selection.kind === Kind.FRAGMENT_SPREAD;
    const inside = isSpread ? fragments.get(selection.name.value)?.selectionSet : selection.selectionSet;
    if (inside !== undefined) yield* fieldsIn(inside, fragments);
  }
}
