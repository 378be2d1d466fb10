import type { GraphQLResolveInfo } from 'graphql';
import type { Loaders } from '../loaders/create-loaders.js';
import { MOST_OF_PAGE, readCursor, writeCursor } from '../model/cursor.js';
import { PublicError } from '../model/errors.js';
import type { RequestContext } from './context.js';
import type { EdgeOf, PageOf } from './pages.js';
import { copiesSelected } from './selections.js';

/** What a page has where its client does not say: the default of schema.graphql, also for null. */
const DEFAULT_FIRST = 100;

/** Checks how many entries of a page are requested. @throws PublicError INVALID_PARAMETER */
function requireFirst(given: number | null | undefined): number {
  const first = given ?? DEFAULT_FIRST;
  if (first >= 1 && first <= MOST_OF_PAGE) return first;
  throw new PublicError('INVALID_PARAMETER', `first must be from 1 to ${MOST_OF_PAGE}.`);
}

/** The arguments of a connection. */
interface PageArgs {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
}

/** Which page is asked for of a question. */
export interface Paging<Place> {
  readonly first: number;
  /** The place that the page follows. */
  readonly after: Place | undefined;
  /** The page from what a loader gives. @param end Where it ends, if that is known without `next` and a node. */
  pageOf<Node>(
    nodes: readonly Node[],
    next: Place | null,
    placeOf: (node: Node) => Place | undefined,
    end?: Place,
  ): PageOf<Node>;
}

/**
 * Reads the arguments of a page.
 *
 * @param question Text that is the same for all pages of a question.
 * @param fields Of a place.
 * @throws PublicError INVALID_PARAMETER, INVALID_CURSOR
 */
export function paging<Place extends object>(
  question: string,
  args: PageArgs,
  fields: PlaceFields<Place>,
): Paging<Place> {
  const write = (place: Place | undefined) => writeCursor(question, jsonOf(place));
  return {
    first: requireFirst(args.first),
    after: placeIn(question, args.after, fields),
    pageOf: (nodes, next, placeOf, end) => ({
      nodes,
      next: next === null ? null : write(next),
      hasPreviousPage: args.after != null,
      ...(end !== undefined && { end: write(end) }),
      cursorOf: (node) => write(placeOf(node)),
    }),
  };
}

/** The fields of a place as JSON, times as digits. */
function jsonOf(place: unknown): unknown {
  return JSON.parse(
    JSON.stringify(place, (_key, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value)),
  );
}

/** What the fields of a place are. */
type PlaceFields<Place> = { readonly [Key in keyof Place]: 'text' | 'number' | 'bigint' };

export const RECORD_PLACE = {
  domain: 'text',
  firstSeen: 'bigint',
  type: 'text',
  position: 'number',
} as const;

/**
 * The place that a cursor says, of a question.
 *
 * @param kinds Of the fields that it has.
 * @throws PublicError INVALID_CURSOR
 */
function placeIn<Place extends object>(
  question: string,
  cursor: string | null | undefined,
  kinds: PlaceFields<Place>,
): Place | undefined {
  if (cursor == null) return undefined;
  const isStored = (value: unknown): value is Record<string, unknown> => isPlace(value, kinds);
  const fields = Object.entries(readCursor('after', question, cursor, isStored)).map(([name, value]) => [
    name,
    Reflect.get(kinds, name) === 'bigint' ? BigInt(String(value).slice(0, -1)) : value,
  ]);
  return Object.fromEntries(fields);
}

/** The loaders that a domain was read by: its lists are to be as late as it is. */
export function loadersOf(
  { isOfPrimary }: { readonly isOfPrimary?: boolean | undefined },
  { loaders, primary }: Pick<RequestContext, 'loaders' | 'primary'>,
): Loaders {
  return isOfPrimary === true ? primary : loaders;
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

const SMALLER_PAGES = 'Request fewer pages in one request, or shorter ones with first.';

/** Counts the nodes of a page in the size of the response. */
function counted<Node>(
  { nodes }: PageOf<Node>,
  { size }: RequestContext,
  info: GraphQLResolveInfo,
): readonly Node[] {
  size.add(octetsOf(nodes) * copiesSelected(info), SMALLER_PAGES);
  return nodes;
}

/** The resolvers of a connection. */
export function connection<Node extends object>() {
  return {
    nodes: (page: PageOf<Node>, _args: object, context: RequestContext, info: GraphQLResolveInfo) =>
      counted(page, context, info),
    edges: (page: PageOf<Node>, _args: object, context: RequestContext, info: GraphQLResolveInfo) =>
      counted(page, context, info).map((node): EdgeOf<Node> => ({ node, cursor: page.cursorOf(node) })),
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

/** Of punctuation and the names of fields. */
const OCTETS_OF_VALUE = 16;

/** How long values are as JSON, about. */
export function octetsOf(value: unknown): number {
  if (typeof value === 'string') return value.length + OCTETS_OF_VALUE;
  if (Array.isArray(value)) return value.reduce((sum: number, each) => sum + octetsOf(each), OCTETS_OF_VALUE);
  if (typeof value !== 'object' || value === null) return OCTETS_OF_VALUE;
  return Object.entries(value).reduce(
    // The domain of an entry is not a part of it.
    (sum: number, [name, each]) => (name === 'of' ? sum : sum + octetsOf(each)),
    OCTETS_OF_VALUE,
  );
}
