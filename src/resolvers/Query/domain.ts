import type { GraphQLResolveInfo } from 'graphql';
import { type DomainHistory, historyOf, needsParts } from '../../loaders/domain-history.js';
import type { DomainRow } from '../../loaders/domain-row.js';
import { parseDomainName } from '../../model/domain-name.js';
import { invalidParameter, PublicError } from '../../model/errors.js';
import { type Instant, requireReached } from '../../model/instant.js';
import type { RequestContext } from '../context.js';
import { neededParts, selectsNames } from '../selections.js';
import type { QueryResolvers } from '../types.generated.js';

const MAX_NAMES = 1_000;

export const ofDomains: QueryResolvers = {
  domain: (_query, { name, at }, context, info) => load(name, instantOf(at), context, info),
  async domains(_query, { names, at }, context, info) {
    requireFew('names', names);
    const instant = instantOf(at);
    // A name that is not valid is an error at its place: a value, since a promise that is rejected before its
    // turn comes would end the process. The generated type knows neither errors nor null in promises.
    const loadOrError = async (name: string) => load(name, instant, context, info);
    return names.map((name) => loadOrError(name).catch((error: Error) => error) as Promise<DomainHistory>);
  },
};

export function requireFew(argument: string, { length }: readonly string[]): void {
  if (length <= MAX_NAMES) return;
  throw invalidParameter(`${argument}: ${length} names; ${MAX_NAMES} are allowed.`);
}

export function instantOf(at: Instant | null | undefined): Instant | undefined {
  return at == null ? undefined : requireReached(at, BigInt(Date.now()) * 1_000n);
}

/** The row of a domain of which nothing but the name is selected. */
const UNREAD = { created: 0n, lastUpdate: 0n, lastChange: 0n, recordedAt: 0n, version: 0n };

/** The domain of a match or a change: nothing is read for its names, nor for what a row has that was found. */
export async function domainOfEntry(
  { domain: name, at, row }: { domain: string; at?: Instant | undefined; row?: DomainRow },
  context: RequestContext,
  info: GraphQLResolveInfo,
): Promise<DomainHistory> {
  const isKnown = row === undefined ? selectsNames(info) : !needsParts(neededParts(info));
  if (isKnown) return historyOf(row ?? { name, ...UNREAD }, at);
  const history = await load(name, at, context, info);
  if (history !== null) return history;
  throw new PublicError('UNAVAILABLE', `${name} was erased while it was read. Try again.`);
}

/** The history of a domain, with the parts that are selected. What a replica lacks, the primary has. */
export async function load(
  text: string,
  at: Instant | undefined,
  { loaders, primary, caller }: RequestContext,
  info: GraphQLResolveInfo,
): Promise<DomainHistory | null> {
  const key = { name: parseDomainName(text), at, ...neededParts(info) };
  const found = await loaders.domainHistory.load(key, caller);
  if (found !== null || loaders === primary) return found;
  const history = await primary.domainHistory.load(key, caller);
  if (history !== null) history.of.isOfPrimary = true;
  return history;
}
