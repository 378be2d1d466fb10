import type { GraphQLResolveInfo } from 'graphql';
import { DEFAULT_FIRST } from '../limits/costs.js';
import type { Page } from '../loaders/search.js';
import { cursorsOf, MAX_PER_PAGE } from '../model/cursor.js';
import { invalidParameter } from '../model/errors.js';
import type { RequestContext } from './context.js';
import { selected } from './selections.js';

/** A page of a list: its nodes, and how cursors are written. */
export interface PageOf<Node> {
  readonly nodes: readonly Node[];
  /** The cursor after which the next page begins; null on the last one. */
  readonly next: string | null;
  readonly hasPreviousPage: boolean;
  /** Where the page ends, where that is known without `next` and a node. */
  readonly end?: string;
  cursorOf(node: Node): string;
}

export interface EdgeOf<Node> {
  readonly node: Node;
  readonly cursor: string;
}

/**
 * @param question Text that is the same for all pages of a question.
 * @param fields Of a place, in the order that cursors have them in.
 * @throws PublicError INVALID_PARAMETER, INVALID_CURSOR
 */
export function paging<Place extends object>(
  question: string,
  { first, after }: { readonly first?: number | null; readonly after?: string | null },
  fields: PlaceFields<Place>,
) {
  const count = first ?? DEFAULT_FIRST;
  if (count < 1 || count > MAX_PER_PAGE) {
    throw invalidParameter(`first must be from 1 to ${MAX_PER_PAGE}.`);
  }
  const cursors = cursorsOf(question);
  const write = (place: Place | undefined) => cursors.write(storedPlace(place ?? {}, fields));
  return {
    first: count,
    after: after == null ? undefined : cursors.read('after', after, (value) => placeIn(value, fields)),
    pageOf: <Node>(
      { items: nodes, next }: Page<Node, Place>,
      placeOf: (node: Node) => Place | undefined,
      end?: Place,
    ): PageOf<Node> => ({
      nodes,
      next: next === null ? null : write(next),
      hasPreviousPage: after != null,
      ...(end !== undefined && { end: write(end) }),
      cursorOf: (node) => write(placeOf(node)),
    }),
  };
}

/** Text that is the same for all pages of a question. @param filter What is null is not given. */
export function questionOf(field: string, filter: object): string {
  const entries = Object.entries(filter).filter(([, value]) => value != null);
  const text = (_key: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
  return `${field} ${JSON.stringify(entries.sort(), text)}`;
}

/** The kinds of fields of a place, read from a cursor; undefined: it is none. Times are digits and `n`. */
const KINDS = {
  text: (value: unknown) => (typeof value === 'string' && !value.includes('\0') ? value : undefined),
  number: (value: unknown) =>
    Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 31 ? value : undefined,
  bigint: (value: unknown) =>
    typeof value === 'string' && /^-?\d{1,18}n$/.test(value) ? BigInt(value.slice(0, -1)) : undefined,
};

type PlaceFields<Place> = { readonly [Key in keyof Place]: keyof typeof KINDS };

export const RECORD_PLACE = {
  domain: 'text',
  firstSeen: 'bigint',
  type: 'text',
  position: 'number',
} as const;

function storedPlace(place: object, fields: object): object {
  const stored = (value: unknown) => (typeof value === 'bigint' ? `${value}n` : value);
  return Object.fromEntries(Object.keys(fields).map((name) => [name, stored(Reflect.get(place, name))]));
}

/** What storedPlace() was given; undefined: this is none. */
function placeIn<Place extends object>(value: unknown, fields: PlaceFields<Place>): Place | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const kinds = Object.entries<keyof typeof KINDS>(fields);
  const entries = kinds.map(([name, kind]) => [name, KINDS[kind](Reflect.get(value, name))]);
  const isPlace =
    Object.keys(value).length === entries.length && entries.every(([, each]) => each !== undefined);
  return isPlace ? Object.fromEntries(entries) : undefined;
}

const SMALLER_PAGES = 'Request fewer pages in one request, or shorter ones with first.';

export const CONNECTION = {
  nodes<Node>({ nodes }: PageOf<Node>, _args: object, { size }: RequestContext, info: GraphQLResolveInfo) {
    size.add(octetsOf(nodes) * selected(info).copies, SMALLER_PAGES);
    return nodes;
  },
  edges<Node>(page: PageOf<Node>, args: object, context: RequestContext, info: GraphQLResolveInfo) {
    const nodes = CONNECTION.nodes(page, args, context, info);
    return nodes.map((node): EdgeOf<Node> => ({ node, cursor: page.cursorOf(node) }));
  },
  pageInfo<Node>({ nodes, next, end, hasPreviousPage, cursorOf }: PageOf<Node>) {
    const [first, last] = [nodes.at(0), nodes.at(-1)];
    return {
      hasNextPage: next !== null,
      hasPreviousPage,
      startCursor: first === undefined ? null : cursorOf(first),
      endCursor: next ?? end ?? (last === undefined ? null : cursorOf(last)),
    };
  },
};

/** Of punctuation and the names of fields. */
const OCTETS_OF_VALUE = 16;

/** How long values are as JSON, about. */
export function octetsOf(value: unknown): number {
  if (typeof value === 'string') return value.length + OCTETS_OF_VALUE;
  if (Array.isArray(value)) return value.reduce((sum: number, each) => sum + octetsOf(each), OCTETS_OF_VALUE);
  if (typeof value !== 'object' || value === null) return OCTETS_OF_VALUE;
  // The domain of an entry is not a part of it.
  const { of: _domain, ...parts } = Object(value);
  return octetsOf(Object.values(parts));
}
