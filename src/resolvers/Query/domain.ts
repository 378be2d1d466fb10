import type { GraphQLResolveInfo } from 'graphql';
import {
  type DomainHistory,
  type DomainHistoryKey,
  historyOf,
  NO_PARTS,
} from '../../loaders/domain-history.js';
import type { DomainRow } from '../../loaders/domain-row.js';
import { parseDomainName } from '../../model/domain-name.js';
import { PublicError } from '../../model/errors.js';
import { type Instant, requireReached } from '../../model/instant.js';
import type { RequestContext } from '../context.js';
import { neededParts, selectsNames } from '../selections.js';
import type { QueryResolvers } from '../types.generated.js';

export const domain: NonNullable<QueryResolvers['domain']> = (_query, { name, at }, context, info) =>
  load(name, instantOf(at), context, info);

/** How many names one field may have. */
const MOST_NAMES = 1_000;

export const domains: NonNullable<QueryResolvers['domains']> = async (
  _query,
  { names, at },
  context,
  info,
) => {
  if (names.length > MOST_NAMES) {
    throw new PublicError('INVALID_PARAMETER', `names: ${names.length} names; ${MOST_NAMES} are allowed.`);
  }
  const instant = instantOf(at);
  // A name that is not valid is an error at its place: a value, since a promise that is rejected before its turn comes
  // would end the process. The generated type knows neither errors nor null in promises.
  const loadOrError = async (name: string) => load(name, instant, context, info);
  return names.map((name) => loadOrError(name).catch((error: Error) => error) as Promise<DomainHistory>);
};

export function instantOf(at: Instant | null | undefined): Instant | undefined {
  return at == null ? undefined : requireReached(at, BigInt(Date.now()) * 1_000n);
}

/** A domain that was found by its row. */
export async function foundDomain(
  row: DomainRow,
  context: RequestContext,
  info: GraphQLResolveInfo,
): Promise<DomainHistory> {
  if (!Object.values(neededParts(info)).includes(true)) return historyOf(row, NO_PARTS, undefined);
  return (await load(row.name, undefined, context, info)) ?? Promise.reject(erased(row.name));
}

function erased(name: string): PublicError {
  return new PublicError('UNAVAILABLE', `${name} was erased while it was read. Try again.`);
}

/** The row of a domain of which nothing but the name is selected. */
const UNREAD = { created: 0n, lastUpdate: 0n, lastChange: 0n, recordedAt: 0n, version: 0n };

/** The domain of a match or a change: nothing is read for its names. */
export async function domainOfEntry(
  name: string,
  at: Instant | undefined,
  context: RequestContext,
  info: GraphQLResolveInfo,
): Promise<DomainHistory> {
  if (selectsNames(info)) return historyOf({ name, ...UNREAD }, NO_PARTS, at);
  return (await load(name, at, context, info)) ?? Promise.reject(erased(name));
}

/** The history of a domain, with the parts that the field selects. What a replica does not have is read from the primary. */
export async function load(
  text: string,
  at: Instant | undefined,
  { loaders, primary, caller }: RequestContext,
  info: GraphQLResolveInfo,
): Promise<DomainHistory | null> {
  const key: DomainHistoryKey = { name: parseDomainName(text), at, ...neededParts(info) };
  const found = await loaders.domainHistory.load(key, caller.signal);
  if (found !== null || loaders === primary) return found;
  const history = await primary.domainHistory.load(key, caller.signal);
  if (history !== null) history.isOfPrimary = true;
  return history;
}
