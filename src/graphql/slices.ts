import { MapperKind, mapSchema } from '@graphql-tools/utils';
import {
  defaultFieldResolver,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  getNullableType,
  isListType,
} from 'graphql';
import { nextTurn } from '../loaders/turns.js';
import type { RequestContext } from '../resolvers/context.js';

/** What is executed of lists in one turn of the event loop, whichever requests it is for: entries. */
const EXECUTED_AT_ONCE = 2_000;
/** The lists beyond are executed in slices, of so many entries. */
const SLICE = 250;
/** What is written at once of an answer, in objects and scalars. */
const WRITTEN_AT_ONCE = 5_000;

/**
 * The schema whose long lists are executed in slices, for graphql-js: compiled operations do not know such lists,
 * and take a tenth of the time.
 */
export function executeInSlices(schema: GraphQLSchema): GraphQLSchema {
  return mapSchema(schema, {
    [MapperKind.OBJECT_FIELD]: (field) => {
      if (!isListType(getNullableType(field.type))) return undefined;
      return { ...field, resolve: slicing(field.resolve ?? defaultFieldResolver) };
    },
  });
}

type Resolver = GraphQLFieldResolver<unknown, RequestContext>;

function slicing(resolve: Resolver): Resolver {
  return (...call) => {
    const list: unknown = resolve(...call);
    return list instanceof Promise ? list.then(sliced) : sliced(list);
  };
}

let executed = 0;

function sliced(list: unknown): unknown {
  if (!Array.isArray(list) || list.length === 0) return list;
  if (executed + list.length > EXECUTED_AT_ONCE) return inSlices(list);
  if (executed === 0) {
    setImmediate(() => {
      executed = 0;
    });
  }
  executed += list.length;
  return list;
}

/** Promises of the entries: those of a slice are kept in one turn. */
function inSlices(list: readonly unknown[]): Promise<unknown>[] {
  let turn: Promise<void> | undefined;
  return list.map((entry, at) => {
    if (turn === undefined || at % SLICE === 0) turn = nextTurn();
    return turn.then(() => entry);
  });
}

/**
 * The JSON text of a value, as JSON.stringify writes it. A large one is written in slices.
 *
 * @param value An object or a list of JSON values; members may be undefined.
 */
export async function stringifyInSlices(value: unknown): Promise<string> {
  const parts: string[] = [];
  let written = 0;
  for (const part of partsOf(value)) {
    parts.push(part.text);
    written += part.values;
    if (written < WRITTEN_AT_ONCE) continue;
    written = 0;
    await nextTurn();
  }
  return parts.join('');
}

interface Part {
  readonly text: string;
  readonly values: number;
}

/** Objects and lists of many values come in parts; all else is one. */
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
