import type { Change as ChangeData } from '../../loaders/changes.js';
import type { RecordPlace } from '../../loaders/search-records.js';
import { CHANGE_KINDS } from '../../model/change-kinds.js';
import { instantOfKey, type NodeName, readNodeId, writeNodeId } from '../../model/node-id.js';
import { typeOfChange } from '../Change.js';
import type { RequestContext } from '../context.js';
import { type Entry, idOf, memberOf } from '../entries.js';
import { type Selecting, selected } from '../selections.js';
import type { NodeResolvers, QueryResolvers } from '../types.generated.js';
import { instantOf, load } from './domain.js';

export const node: NonNullable<QueryResolvers['node']> = async (_query, { id }, context, info) => {
  const name = readNodeId(id);
  if (name.kind === 'domain') return load(name.domain, instantOf(name.at), context, info);
  const found = await find(name, context, info);
  return found !== null && idOf(found) === writeNodeId(name) ? found : null;
};

export const Node: NodeResolvers = {
  __resolveType(found) {
    if ('version' in found) return 'Domain';
    if ('kind' in found) return typeOfChange(found);
    return 'history' in found ? 'HeaderHistory' : memberOf(found);
  },
};

/** What a name may be of: whether it has the name is not checked. */
async function find(name: NodeName, context: RequestContext, info: Selecting): Promise<Entry | null> {
  const { domain, at, key } = name;
  if (name.kind === 'record') return (await findMatch(name, key, context))?.record ?? null;
  if (name.kind === 'header') {
    const history = selected(info).fields.has('history');
    const page = { of: { domain, at }, names: key.slice(0, 1), first: 1, history };
    return (await context.loaders.headerPage.load(page, context.caller)).items[0] ?? null;
  }
  const change = await findChange(name, context);
  return change && { ...change, asOf: at };
}

async function findMatch({ domain, at }: NodeName, what: readonly string[], context: RequestContext) {
  const [time, type = '', digest] = what;
  const firstSeen = instantOfKey(time);
  const filter = { domain, at, firstSeenTo: firstSeen, digest };
  const after: RecordPlace = { domain, firstSeen, type, position: -1 };
  const key = { filter, first: 1, after, lastSeen: true };
  const { items } = await context.loaders.recordPage.load(key, context.caller);
  return items[0] ?? null;
}

async function findChange(name: NodeName, context: RequestContext): Promise<ChangeData | null> {
  const { domain, at, key } = name;
  const [kind, time, ...what] = key;
  const known = CHANGE_KINDS.find((each) => each === kind);
  if (known === undefined) return null;
  const date = instantOfKey(time);
  const first = { kinds: new Set([known]), newestFirst: false, first: 1 };
  if (known === 'HISTORY_EXTENDED') {
    const after = { number: instantOfKey(what[0]), recordedAt: date, given: 0 };
    const page = await context.feed.page({ ...first, domains: [{ parts: [domain] }], after }, context.caller);
    return page?.items[0] ?? null;
  }
  const match = what.length > 1 ? await findMatch(name, what, context) : undefined;
  if (match === null) return null;
  // The place before that of the record.
  const rank = CHANGE_KINDS.indexOf(known);
  const after = match && { ...match.place, date, kind: rank, position: match.place.position - 1 };
  const headers = match === undefined ? what.slice(0, 1) : undefined;
  const page = { ...first, name: domain, at, from: date - 1n, to: date, headers, after };
  const [change] = (await context.loaders.changes.load(page, context.caller)).items;
  if (change === undefined) return null;
  return match === undefined ? change : { ...change, record: match.record };
}
