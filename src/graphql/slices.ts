import { MapperKind, mapSchema } from '@graphql-tools/utils';
import {
  defaultFieldResolver,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isLeafType,
  isListType,
} from 'graphql';
import { fairTurns } from '../rates/fair-turns.js';
import type { RequestContext } from '../resolvers/context.js';

/** Long lists are executed in slices, of so many entries, each in its part of a turn. */
const SLICE = 100;
/** Milliseconds that graphql-js takes for an object, and for a leaf. */
const OF_OBJECT = 0.03;
const OF_LEAF = 0.001;
/** The same for an error, of which a document may have some 10,000. */
const OF_ERROR = 0.03;
/** What is written of a response in a part of a turn, in objects and scalars, and how long that takes. */
const WRITTEN_AT_ONCE = 5_000;
const OF_WRITING = 1;

/**
 * The schema whose long lists are executed in slices, and whose fields fail each in its part of a turn, for graphql-js:
 * compiled operations do not know such lists, and take a tenth of the time.
 */
export function executeInSlices(schema: GraphQLSchema): GraphQLSchema {
  return mapSchema(schema, {
    [MapperKind.OBJECT_FIELD]: (field) => {
      const { resolve = defaultFieldResolver, type, args = {} } = field;
      const isList = isListType(getNullableType(type));
      // What a client can make fail, under many names, is a field with arguments.
      const mayFail = Object.keys(args).length > 0;
      if (!isList && !mayFail) return undefined;
      const slice = isLeafType(getNamedType(type)) ? inOnePiece : inSlices;
      const sliced = isList ? slicing(resolve, slice) : resolve;
      return { ...field, resolve: mayFail ? failingInTurns(sliced) : sliced };
    },
  });
}

type Resolver = GraphQLFieldResolver<unknown, RequestContext>;
type Slice = (list: readonly unknown[], client: string) => unknown;

/** A longer list has a turn of its own for the promises of its entries. */
const PROMISED_AT_ONCE = 1_000;
/** Milliseconds that the promises of an entry take, of those that are not executed at once. */
const OF_PROMISE = 0.001;

function slicing(resolve: Resolver, slice: Slice): Resolver {
  return (source, args, context, info) => {
    const sliced = (list: unknown) => (Array.isArray(list) ? slice(list, context.viewer.rateLimitKey) : list);
    const list: unknown = resolve(source, args, context, info);
    return list instanceof Promise ? list.then(sliced) : sliced(list);
  };
}

function failingInTurns(resolve: Resolver): Resolver {
  return (source, args, context, info) => {
    const fail = async (error: unknown): Promise<never> => {
      await fairTurns.take(context.viewer.rateLimitKey, OF_ERROR);
      throw error;
    };
    try {
      const value: unknown = resolve(source, args, context, info);
      return value instanceof Promise ? value.catch(fail) : value;
    } catch (error) {
      return fail(error);
    }
  };
}

/** A promise for each entry would take more time and memory than the entry. */
function inOnePiece(list: readonly unknown[], client: string): unknown {
  const turn = fairTurns.take(client, list.length * OF_LEAF);
  return turn === undefined ? list : turn.then(() => list);
}

/** Entries of the first slices that are executed at once, and promises of the others. */
function inSlices(
  list: readonly unknown[],
  client: string,
): readonly unknown[] | Promise<readonly unknown[]> {
  if (list.length <= PROMISED_AT_ONCE) return promised(list, client);
  return Promise.resolve(fairTurns.take(client, list.length * OF_PROMISE)).then(() => promised(list, client));
}

function promised(list: readonly unknown[], client: string): readonly unknown[] {
  let turn: Promise<void> | undefined;
  return list.map((entry, at) => {
    if (at % SLICE === 0) {
      turn = fairTurns.take(client, Math.min(SLICE, list.length - at) * OF_OBJECT);
    }
    return turn === undefined ? entry : turn.then(() => entry);
  });
}

/**
 * The JSON text of a value, as JSON.stringify writes it. A large one is written in slices.
 *
 * @param value An object or a list of JSON values; members may be undefined.
 * @param client That it is written for.
 * @param known How many values its lists have; absent: they are counted.
 */
export function stringifyInSlices(value: unknown, client: string, known?: number): string | Promise<string> {
  // The budget has counted them before. What is in no list is little.
  return known !== undefined && known <= WRITTEN_AT_ONCE / 2 ? JSON.stringify(value) : inParts(value, client);
}

async function inParts(value: unknown, client: string): Promise<string> {
  const parts: string[] = [];
  let written = 0;
  for (const part of partsOf(value)) {
    parts.push(part.text);
    written += part.values;
    if (written < WRITTEN_AT_ONCE) continue;
    written = 0;
    await fairTurns.take(client, OF_WRITING);
  }
  return parts.join('');
}

interface Part {
  readonly text: string;
  readonly values: number;
}

/** Objects and lists of many values come in parts; everything else is one. */
function* partsOf(value: unknown): Generator<Part> {
  const values = valuesIn(value);
  if (values <= WRITTEN_AT_ONCE || typeof value !== 'object' || value === null) {
    yield { text: JSON.stringify(value), values };
  } else if (Array.isArray(value)) {
    yield* partsOfList(value);
  } else {
    yield* partsOfObject(value);
  }
}

function* partsOfList(list: readonly unknown[]): Generator<Part> {
  yield { text: '[', values: 0 };
  for (let at = 0; at < list.length; at += SLICE) {
    if (at > 0) yield { text: ',', values: 0 };
    const slice = list.slice(at, at + SLICE);
    const values = valuesIn(slice);
    if (values <= WRITTEN_AT_ONCE) yield { text: JSON.stringify(slice).slice(1, -1), values };
    else yield* separated(slice.map((entry) => partsOf(entry)));
  }
  yield { text: ']', values: 0 };
}

function* partsOfObject(object: object): Generator<Part> {
  const members = Object.entries(object).filter(([, member]) => member !== undefined);
  yield { text: '{', values: 0 };
  yield* separated(members.map(([name, member]) => named(name, member)));
  yield { text: '}', values: 0 };
}

function* named(name: string, member: unknown): Generator<Part> {
  yield { text: `${JSON.stringify(name)}:`, values: 0 };
  yield* partsOf(member);
}

function* separated(members: readonly Generator<Part>[]): Generator<Part> {
  for (const [at, parts] of members.entries()) {
    if (at > 0) yield { text: ',', values: 0 };
    yield* parts;
  }
}

/** How many values there are in a value; more than WRITTEN_AT_ONCE where these are too many to be counted. */
function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  let values = 1;
  for (const member of Object.values(value)) {
    values += valuesIn(member);
    if (values > WRITTEN_AT_ONCE) break;
  }
  return values;
}
