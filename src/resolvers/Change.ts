import type { Change as ChangeData, ChangePosition } from '../loaders/changes.js';
import { seenUpTo } from '../loaders/observed-parts.js';
import {
  CHANGE_KINDS,
  type ChangeKind,
  DOMAIN_CHANGE_KINDS,
  HEADER_CHANGES,
  RECORD_CHANGES,
} from '../model/change-kinds.js';
import { invalidParameter } from '../model/errors.js';
import { formatInstant, type Instant } from '../model/instant.js';
import { paging, questionOf } from './connection.js';
import { loadersOf } from './context.js';
import { idOf } from './entries.js';
import { sortedNames, sortedTypes } from './lists.js';
import { domainOfEntry } from './Query/domain.js';
import type { ChangeResolvers, DnsRecordAddedResolvers, DomainResolvers } from './types.generated.js';

const PLACE = {
  date: 'bigint',
  kind: 'number',
  firstSeen: 'bigint',
  type: 'text',
  position: 'number',
} as const;

export const changesOf: NonNullable<DomainResolvers['changes']> = async (history, args, context) => {
  const { name, at, times } = history;
  const { from, to } = args;
  requireInterval('from', from, 'to', to);
  const types = sortedTypes(args.types);
  const headers = sortedNames(args.headers);
  // With types or headers alone, there is nothing of the others.
  const ofParts: readonly ChangeKind[] = [
    ...(types ? RECORD_CHANGES : []),
    ...(headers ? HEADER_CHANGES : []),
  ];
  const isWanted = (kind: ChangeKind) => ofParts.includes(kind) || (types ?? headers) === undefined;
  const kinds = new Set((args.kinds ?? DOMAIN_CHANGE_KINDS).filter(isWanted));
  const filter = {
    at,
    from: from ?? undefined,
    to: to == null || (at !== undefined && at < to) ? at : to,
    types,
    headers,
    notable: args.notable ?? undefined,
    newestFirst: args.order === 'NEWEST_FIRST',
  };
  const question = questionOf(`changes ${name}`, { ...filter, kinds: [...kinds].sort() });
  const { first, after, pageOf } = paging<ChangePosition>(question, args, PLACE);
  const key = { ...filter, name, kinds, first, after };
  const page = await loadersOf(history, context).changes.load(key, context.caller);
  for (const { record } of page.items) {
    if (record?.removed === null) record.lastSeen = seenUpTo(record, times?.types.get(record.type)?.latest);
  }
  return pageOf(page, (change) => change.at);
};

type Time = Instant | null | undefined;

/** @throws PublicError INVALID_PARAMETER where the first of two times is later than the second. */
export function requireInterval(nameOfFrom: string, from: Time, nameOfTo: string, to: Time): void {
  if (from == null || to == null || from <= to) return;
  const [first, second] = [from, to].map(formatInstant);
  throw invalidParameter(`${nameOfFrom}, ${first}, is later than ${nameOfTo}, ${second}: exchange them.`);
}

const TYPES = {
  DNS_RECORD_ADDED: 'DnsRecordAdded',
  DNS_RECORD_REMOVED: 'DnsRecordRemoved',
  HEADER_CREATED: 'HeaderCreated',
  HEADER_UPDATED: 'HeaderUpdated',
  HEADER_GONE: 'HeaderGone',
  HEADER_RETURNED: 'HeaderReturned',
  HISTORY_EXTENDED: 'HistoryExtended',
  SITE_STATUS_CHANGED: 'SiteStatusChanged',
} as const satisfies Record<ChangeKind, string>;

export const typeOfChange = ({ kind }: ChangeData) => TYPES[kind];

export const Change: ChangeResolvers = { __resolveType: typeOfChange };

const OF_CHANGE: Pick<DnsRecordAddedResolvers, 'id' | 'domain'> = {
  id: idOf,
  domain: ({ domain, asOf: at }, _args, context, info) => domainOfEntry({ domain, at }, context, info),
};

export const changeResolvers = Object.fromEntries(CHANGE_KINDS.map((kind) => [TYPES[kind], OF_CHANGE]));
