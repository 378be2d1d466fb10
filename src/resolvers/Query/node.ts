import type { Change as ChangeData } from '../../loaders/change-rows.js';
import type { DnsEntry } from '../../loaders/dns-entries.js';
import type { HeaderEntry } from '../../loaders/header-entries.js';
import type { RecordPlace } from '../../loaders/search-records.js';
import { CHANGE_KINDS, type ChangeKind } from '../../model/change-kinds.js';
import { instantOfKey, type NodeName, readNodeId, writeNodeId } from '../../model/node-id.js';
import { typeOfChange } from '../Change.js';
import type { RequestContext } from '../context.js';
import { memberOf } from '../DnsRecord.js';
import { nameOfChange, nameOfHeader, nameOfRecord } from '../node-names.js';
import { type Selecting, selectsField } from '../selections.js';
import type { NodeResolvers, QueryResolvers } from '../types.generated.js';
import { instantOf, load } from './domain.js';

export const node: NonNullable<QueryResolvers['node']> = async (_query, { id }, context, info) => {
  const name = readNodeId(id);
  if (name.kind === 'domain') return load(name.domain, instantOf(name.at), context, info);
  return findOfDomain(name, context, info);
};

export const Node: NodeResolvers = {
  __resolveType: (found) => ('version' in found ? 'Domain' : typeOfEntry(found)),
};

/** What a domain has. */
type Entry = DnsEntry | HeaderEntry | ChangeData;

function typeOfEntry(entry: Entry) {
  if ('kind' in entry) return typeOfChange(entry);
  return 'history' in entry ? 'HeaderHistory' : memberOf(entry);
}

function findOfDomain(name: NodeName, context: RequestContext, info: Selecting): Promise<Entry | null> {
  if (name.kind === 'header') return findHeader(name, context, info);
  return name.kind === 'record' ? findRecord(name, context) : findChange(name, context);
}

async function findRecord(name: NodeName, context: RequestContext): Promise<DnsEntry | null> {
  const found = await matchOf(name, name.key, context);
  return found && isNamed(nameOfRecord, name, found.record);
}

/** @param what The key of a record. */
async function matchOf({ domain, at }: NodeName, what: readonly string[], context: RequestContext) {
  const [time, type = '', digest] = what;
  const firstSeen = instantOfKey(time);
  const filter = { domain, at, firstSeenTo: firstSeen, digest };
  const after: RecordPlace = { domain, firstSeen, type, position: -1 };
  const key = { filter, first: 1, after, lastSeen: true };
  const { matches } = await context.loaders.recordPage.load(key, context.caller.signal);
  return matches[0] ?? null;
}

async function findHeader(
  name: NodeName,
  context: RequestContext,
  info: Selecting,
): Promise<HeaderEntry | null> {
  const { domain, at, key } = name;
  const page = { domain, at, names: key.slice(0, 1), first: 1, history: selectsField('history', info) };
  const { headers } = await context.loaders.headerPage.load(page, context.caller.signal);
  const [header] = headers;
  const of = { domain, at, isOfPrimary: undefined };
  return header === undefined ? null : isNamed(nameOfHeader, name, { ...header, of });
}

async function findChange(name: NodeName, context: RequestContext): Promise<ChangeData | null> {
  const { domain, at, key } = name;
  const [kind, time, ...what] = key;
  const all: readonly string[] = CHANGE_KINDS;
  const rank = all.indexOf(kind ?? '');
  const date = instantOfKey(time);
  const kinds = new Set(CHANGE_KINDS.slice(rank, rank + 1));
  const found = kinds.has('HISTORY_EXTENDED')
    ? await extensionOf(domain, date, instantOfKey(what[0]), kinds, context)
    : await changeOf(name, { rank, date, what }, kinds, context);
  return found && isNamed(nameOfChange, name, { ...found, asOf: at });
}

/** What an id says of a change. */
interface KeyOfChange {
  readonly rank: number;
  readonly date: bigint;
  readonly what: readonly string[];
}

async function changeOf(
  name: NodeName,
  { rank, date, what }: KeyOfChange,
  kinds: ReadonlySet<ChangeKind>,
  context: RequestContext,
): Promise<ChangeData | null> {
  const match = what.length > 1 ? await matchOf(name, what, context) : null;
  if (what.length > 1 && match === null) return null;
  // The place before that of the record.
  const after = match && { ...match.place, date, kind: rank, position: match.place.position - 1 };
  const key = { name: name.domain, at: name.at, kinds, newestFirst: false, first: 1 };
  const interval = { from: date - 1n, to: date, names: match === null ? what.slice(0, 1) : undefined };
  const page = { ...key, ...interval, after: after ?? undefined };
  const [change] = (await context.loaders.changes.load(page, context.caller.signal)).changes;
  return change === undefined || match === null ? (change ?? null) : { ...change, record: match.record };
}

async function extensionOf(
  domain: string,
  recordedAt: bigint,
  number: bigint,
  kinds: ReadonlySet<ChangeKind>,
  context: RequestContext,
): Promise<ChangeData | null> {
  const after = { number, recordedAt, given: 0 };
  const page = { domains: [domain], kinds, newestFirst: false, first: 1, after };
  return (await context.feed.page(page))?.changes[0] ?? null;
}

/** What was found, if it has the id that was given. */
function isNamed<Found>(nameOf: (found: Found) => NodeName, name: NodeName, found: Found): Found | null {
  return writeNodeId(nameOf(found)) === writeNodeId(name) ? found : null;
}
