import type { Change as ChangeData, ChangePosition, ChangesOfQuestion } from '../loaders/domain-changes.js';
import type { DomainHistory } from '../loaders/domain-history.js';
import { CHANGE_KINDS, type ChangeKind } from '../model/change-kinds.js';
import { MOST_OF_PAGE, readCursor, writeCursor } from '../model/cursor.js';
import { PublicError } from '../model/errors.js';
import { formatInstant } from '../model/instant.js';
import type { RequestContext } from './context.js';
import { allOf, granted } from './granted.js';
import type { ChangeConnectionResolvers, ChangeResolvers, DomainChangesArgs } from './types.generated.js';

/** A page of the changes of a domain, as of the instant that its history is of. */
export async function changesOf(
  { name, at, times }: DomainHistory,
  args: DomainChangesArgs,
  { loaders, recipient, viewer, budget }: RequestContext,
): Promise<ChangesOfQuestion> {
  const { from, to, first, after } = args;
  if (first < 1 || first > MOST_OF_PAGE) throw invalid(`first must be from 1 to ${MOST_OF_PAGE}.`);
  if (from != null && to != null && from > to) {
    throw invalid(`from, ${formatInstant(from)}, is later than to, ${formatInstant(to)}: exchange them.`);
  }
  const kinds = new Set(args.kinds ?? CHANGE_KINDS);
  const newestFirst = args.order === 'NEWEST_FIRST';
  const end = to == null || (at !== undefined && at < to) ? at : to;
  const question = ['changes', name, at, from, end, [...kinds].sort(), newestFirst].join(' ');
  const position = after == null ? undefined : positionOf(readCursor('after', question, after, isPlace));
  if (budget.isOver) return { changes: [], next: null, question };
  await budget.readPage();
  const key = { name, recipient, client: viewer.rateLimitKey, kinds, newestFirst, first };
  const interval = { from: from ?? undefined, to: end, at };
  const page = await loaders.changes.load({ ...key, ...interval, after: position });
  for (const { record } of page.changes) {
    if (record?.removed === null) record.lastSeen = times?.types.get(record.type)?.latest ?? record.firstSeen;
  }
  return { ...page, question };
}

function invalid(message: string): PublicError {
  return new PublicError('INVALID_PARAMETER', message);
}

type Place = readonly [date: string, kind: number, firstSeen: string, type: string, position: number];

function placeOf({ date, kind, firstSeen, type, position }: ChangePosition): Place {
  return [String(date), kind, String(firstSeen), type, position];
}

function isPlace(value: unknown): value is Place {
  if (!Array.isArray(value) || value.length !== 5) return false;
  const [date, kind, firstSeen, type, position] = value;
  const isTime = (time: unknown) => typeof time === 'string' && /^-?\d{1,18}$/.test(time);
  const isNumber = (number: unknown) =>
    Number.isInteger(number) && Number(number) >= 0 && Number(number) < 2 ** 31;
  const isText = typeof type === 'string' && type.length <= LONGEST_TYPE && !type.includes('\0');
  return isTime(date) && isNumber(kind) && isTime(firstSeen) && isText && isNumber(position);
}

/** In characters: a type or the name of a header. */
const LONGEST_TYPE = 65_536;

function positionOf([date, kind, firstSeen, type, position]: Place): ChangePosition {
  return { date: BigInt(date), kind, firstSeen: BigInt(firstSeen), type, position };
}

function cursorOf({ question }: ChangesOfQuestion, position: ChangePosition): string {
  return writeCursor(question, placeOf(position));
}

export const ChangeConnection: ChangeConnectionResolvers = {
  nodes: ({ changes }, _args, { budget }, info) => granted(allOf(changes), typeOfChange, budget, info),
  edges: (page, _args, { budget }, info) => {
    const edges = page.changes.map((node) => ({ node, cursor: cursorOf(page, node.at) }));
    return granted(allOf(edges), () => 'ChangeEdge', budget, info);
  },
  pageInfo: (page) => {
    const end = page.next ?? page.changes.at(-1)?.at;
    return { hasNextPage: page.next !== null, endCursor: end === undefined ? null : cursorOf(page, end) };
  },
};

const TYPES = {
  DNS_RECORD_ADDED: 'DnsRecordAdded',
  DNS_RECORD_REMOVED: 'DnsRecordRemoved',
  HEADER_CREATED: 'HeaderCreated',
  HEADER_UPDATED: 'HeaderUpdated',
  HEADER_GONE: 'HeaderGone',
  HEADER_RETURNED: 'HeaderReturned',
} as const satisfies Record<ChangeKind, string>;

function typeOfChange({ kind }: ChangeData): (typeof TYPES)[ChangeKind] {
  return TYPES[kind];
}

export const Change: ChangeResolvers = { __resolveType: typeOfChange };
