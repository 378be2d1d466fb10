import {
  type ArgumentNode,
  type ASTNode,
  type GraphQLResolveInfo,
  type OperationDefinitionNode,
  type ValueNode,
  valueFromASTUntyped,
  visit,
} from 'graphql';
import {
  type DomainHistory,
  type DomainHistoryKey,
  historyOf,
  NO_PARTS,
} from '../../loaders/domain-history.js';
import type { DomainRow } from '../../loaders/domain-row.js';
import { versionOfCursor } from '../../model/cursor.js';
import { parseDomainName } from '../../model/domain-name.js';
import { PublicError } from '../../model/errors.js';
import { type Instant, requireReached } from '../../model/instant.js';
import { loadersOf, versionOf } from '../connection.js';
import type { RequestContext } from '../context.js';
import { neededParts, selectsNames } from '../needed-parts.js';
import type { QueryResolvers } from '../types.generated.js';

export const domain: NonNullable<QueryResolvers['domain']> = (_query, { name, at }, context, info) =>
  context.part ?? load(name, instantOf(at), context, info);

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
  await context.budget.readDomains(info.path.key, names.length);
  // A name that is not valid is an error at its place: a value, since a promise that is rejected before its turn comes
  // would end the process. The generated type knows neither errors nor null in promises.
  const loadOrError = async (name: string) => load(name, instant, context, info);
  return names.map((name) => loadOrError(name).catch((error: Error) => error) as Promise<DomainHistory>);
};

export function instantOf(at: Instant | null | undefined): Instant | undefined {
  return at == null ? undefined : requireReached(at, BigInt(Date.now()) * 1_000n);
}

/** A domain that was found, of which a history counts as one `domain`. */
export async function foundDomain(
  row: DomainRow,
  context: RequestContext,
  info: GraphQLResolveInfo,
): Promise<DomainHistory> {
  const { dnsRecords, httpHeaders, counts, times } = neededParts(info);
  const isLate = context.loaders !== context.primary && latestVersion(info) > row.version;
  if (!(isLate || dnsRecords || httpHeaders || counts || times)) return historyOf(row, NO_PARTS, undefined);
  const found = await loadDomain(row.name, undefined, context, info);
  if (found === null) throw erased(row.name);
  return found;
}

function erased(name: string): PublicError {
  return new PublicError('UNAVAILABLE', `${name} was erased while it was read. Try again.`);
}

/** The row of a domain of which nothing but the name is selected. */
const UNREAD = { created: 0n, lastUpdate: 0n, lastChange: 0n, recordedAt: 0n, version: 0n };

/** The domain of a match or a change: nothing is read for its names. */
export function domainOfEntry(
  name: string,
  at: Instant | undefined,
  context: RequestContext,
  info: GraphQLResolveInfo,
): DomainHistory | Promise<DomainHistory> {
  if (selectsNames(info)) return historyOf({ name, ...UNREAD }, NO_PARTS, at);
  return loadDomain(name, at, context, info).then((found) => found ?? Promise.reject(erased(name)));
}

/** The domain of an entry of a page. A history counts as one `domain`. */
async function loadDomain(
  name: string,
  at: Instant | undefined,
  context: RequestContext,
  info: GraphQLResolveInfo,
): Promise<DomainHistory | null> {
  const { dnsRecords, httpHeaders, counts, times } = neededParts(info);
  if (dnsRecords || httpHeaders || counts || times)
    await context.budget.readDomains(`${pathOf(info)} ${name}`, 1);
  return load(name, at, context, info);
}

/** The response names that lead to a field, and the places in lists. */
function pathOf({ path }: GraphQLResolveInfo): string {
  const keys: (string | number)[] = [];
  for (let at: typeof path | undefined = path; at !== undefined; at = at.prev) keys.push(at.key);
  return keys.reverse().join('.');
}

/** The history of a domain, with the parts that the field selects. */
export function load(
  text: string,
  at: Instant | undefined,
  context: RequestContext,
  info: GraphQLResolveInfo,
): Promise<DomainHistory | null> {
  const { loaders, primary, viewer, recipient, onLarge, budget } = context;
  const needed = neededParts(info);
  const { counts, times = false } = needed;
  // The times of the parts of an earlier state are found in its lists.
  const needsLists = at !== undefined && times;
  const key: DomainHistoryKey = {
    name: parseDomainName(text),
    at,
    dnsRecords: needed.dnsRecords || needsLists,
    httpHeaders: needed.httpHeaders || needsLists,
    counts,
    // Counting a large history is paid for when it is known how large it is.
    countsAny: counts && budget.isRepetition,
    times,
    filtered: needed.filtered === true && !needsLists,
    recipient,
    client: viewer.rateLimitKey,
    onLarge: (octets) => onLarge(key, octets),
  };
  const history =
    loaders === primary
      ? loaders.domainHistory.load(key)
      : loaders.domainHistory.load(key).then((found) => latest(found, key, context, info));
  if (!counts) return history;
  return history.then(async (found) => {
    if (found === null) return null;
    await budget.count(found.octets, loaders.mostOctets);
    if (found.counts !== null) return found;
    const counted = await loadersOf(found, context).domainHistory.load({
      ...key,
      dnsRecords: false,
      httpHeaders: false,
      times: false,
      countsAny: true,
    });
    if (counted === null) return null;
    versionOf(found, counted, context);
    return { ...found, counts: counted.counts };
  });
}

/** What a replica has, unless the client has had a page of a later version: then what the primary has. */
async function latest(
  found: DomainHistory | null,
  key: DomainHistoryKey,
  { primary }: RequestContext,
  info: GraphQLResolveInfo,
): Promise<DomainHistory | null> {
  if (latestVersion(info) <= (found?.version ?? 0n)) return found;
  const history = await primary.domainHistory.load(key);
  if (history !== null) history.isOfPrimary = true;
  return history;
}

/** By operation, what is given as `after`. Operations are parsed once, most of them. */
const CURSORS = new WeakMap<OperationDefinitionNode, readonly ValueNode[]>();

/** The latest version of a domain that a cursor of an operation has; 0 where none has one. */
function latestVersion({ operation, fragments, variableValues }: GraphQLResolveInfo): bigint {
  const cursors = CURSORS.get(operation) ?? cursorsIn([operation, ...Object.values(fragments)]);
  CURSORS.set(operation, cursors);
  let version = 0n;
  for (const cursor of cursors) {
    const value = valueFromASTUntyped(cursor, variableValues);
    const own = typeof value === 'string' ? versionOfCursor(value) : 0n;
    if (own > version) version = own;
  }
  return version;
}

function cursorsIn(definitions: readonly ASTNode[]): ValueNode[] {
  const found: ValueNode[] = [];
  const Argument = ({ name, value }: ArgumentNode) => {
    if (name.value === 'after') found.push(value);
  };
  for (const definition of definitions) visit(definition, { Argument });
  return found;
}
