import type { GraphQLResolveInfo } from 'graphql';
import type { Loaders } from '../loaders/create-loaders.js';
import type { OfVersion } from '../loaders/domain-row.js';
import { MOST_OF_PAGE, readCursor, writeCursor } from '../model/cursor.js';
import { PublicError } from '../model/errors.js';
import type { RequestContext } from './context.js';
import { allOf, granted } from './granted.js';
import type { EdgeOf, PageOf } from './pages.js';

/** What a page has where its client does not say: the default of schema.graphql, also for null. */
const DEFAULT_FIRST = 100;

/** Checks how many entries of a page are requested. @throws PublicError INVALID_PARAMETER */
export function requireFirst(given: number | null | undefined): number {
  const first = given ?? DEFAULT_FIRST;
  if (first >= 1 && first <= MOST_OF_PAGE) return first;
  throw new PublicError('INVALID_PARAMETER', `first must be from 1 to ${MOST_OF_PAGE}.`);
}

/**
 * A page from what a loader gives.
 *
 * @param version versionOf() the page, of a domain's own list; absent: it is a list of all domains.
 */
export function pageOf<Node, Place>(
  question: string,
  {
    nodes,
    next,
    end,
    after,
  }: {
    readonly nodes: readonly Node[];
    readonly next: Place | null;
    readonly end?: Place;
    /** What the page begins after: a cursor, or the place that it says. */
    readonly after: unknown;
  },
  placeOf: (node: Node) => Place,
  version?: bigint,
): PageOf<Node> {
  const write = (place: Place) =>
    writeCursor(question, jsonOf(version === undefined ? place : { ...place, version }));
  return {
    nodes,
    next: next === null ? null : write(next),
    hasPreviousPage: after != null,
    ...(end !== undefined && { end: write(end) }),
    cursorOf: (node) => write(placeOf(node)),
  };
}

/**
 * The version of the state that a page of a domain's list was read in, for its cursors. The domain may have changed since its row
 * was read, or may have been erased.
 */
export function versionOf(
  { version: ofRow }: { readonly version: bigint },
  { version }: OfVersion,
  { budget }: RequestContext,
): bigint {
  if (version !== undefined && version !== ofRow) budget.stateOfPage = { version };
  return version ?? ofRow;
}

/** The fields of a place as JSON, times as digits: the keys of PLACES are the fields of cursors. */
function jsonOf(place: unknown): unknown {
  return JSON.parse(
    JSON.stringify(place, (_key, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value)),
  );
}

/** What the fields of a place are. */
type Kinds<Place> = { readonly [Key in keyof Place]: 'text' | 'number' | 'bigint' };

/**
 * The place that a cursor says, of a question.
 *
 * @param kinds Of the fields that it has.
 * @throws PublicError INVALID_CURSOR
 */
export function placeIn<Place extends object>(
  question: string,
  cursor: string | null | undefined,
  kinds: Kinds<Place>,
): Place | undefined {
  return cursor == null ? undefined : readPlace<Place>(question, cursor, kinds);
}

/**
 * The place that a cursor of a domain's own list says. It has the version of the domain that its page was of, too: the domain was
 * read from a database with that version, or a later one (`load` in Query/domain.ts).
 *
 * @throws PublicError INVALID_CURSOR
 */
export function placeOfDomain<Place extends object>(
  question: string,
  cursor: string | null | undefined,
  kinds: Kinds<Place>,
): Place | undefined {
  if (cursor == null) return undefined;
  return readPlace<Place>(question, cursor, { ...kinds, version: 'bigint' }, kinds);
}

/** The loaders that a domain was read by: its lists are to be as late as it is. */
export function loadersOf(
  { isOfPrimary }: { readonly isOfPrimary?: boolean | undefined },
  { loaders, primary }: Pick<RequestContext, 'loaders' | 'primary'>,
): Loaders {
  return isOfPrimary === true ? primary : loaders;
}

/** @param earlier The fields that cursors had before. */
function readPlace<Place extends object>(
  question: string,
  cursor: string,
  kinds: object,
  earlier: object = kinds,
): Place {
  const isStored = (value: unknown): value is Record<string, unknown> =>
    isPlace(value, kinds) || isPlace(value, earlier);
  const fields = Object.entries(readCursor('after', question, cursor, isStored)).map(([name, value]) => [
    name,
    Reflect.get(kinds, name) === 'bigint' ? BigInt(String(value).slice(0, -1)) : value,
  ]);
  return Object.fromEntries(fields);
}

/** In characters: the name of a domain, a type, or the name of a header. */
const LONGEST_TEXT = 65_536;

function isPlace(value: unknown, kinds: object): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const names = Object.keys(kinds);
  return (
    Object.keys(value).length === names.length &&
    names.every((name) => isKind(Reflect.get(value, name), Reflect.get(kinds, name)))
  );
}

function isKind(value: unknown, kind: unknown): boolean {
  if (kind === 'number') return Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 31;
  if (typeof value !== 'string') return false;
  return kind === 'bigint'
    ? /^-?\d{1,18}n$/.test(value)
    : value.length <= LONGEST_TEXT && !value.includes('\0');
}

/** The resolvers of a connection. @param typeOf Of its nodes; of its edges, it is the name of their type. */
export function connection<Node extends object>(typeOf: (node: Node) => string, edgeType: string) {
  return {
    nodes: (page: PageOf<Node>, _args: object, { budget }: RequestContext, info: GraphQLResolveInfo) =>
      granted(allOf(page.nodes), typeOf, budget, info),
    edges: (page: PageOf<Node>, _args: object, { budget }: RequestContext, info: GraphQLResolveInfo) => {
      const edges = page.nodes.map((node): EdgeOf<Node> => ({ node, cursor: page.cursorOf(node) }));
      return granted(allOf(edges), () => edgeType, budget, info);
    },
    pageInfo: ({ nodes, next, end, hasPreviousPage, cursorOf }: PageOf<Node>) => {
      const [first] = nodes;
      const last = nodes.at(-1);
      return {
        hasNextPage: next !== null,
        hasPreviousPage,
        startCursor: first === undefined ? null : cursorOf(first),
        endCursor: next ?? end ?? (last === undefined ? null : cursorOf(last)),
      };
    },
  };
}
