import { SCOPES, type Viewer } from './auth/viewer.js';
import type { Database } from './database/client.js';
import { tablesOf } from './database/tables.js';
import { Feed } from './feed/feed.js';
import { GraphqlExecutor } from './graphql/execute.js';
import { NEVER_GONE } from './limits/caller.js';
import { createLoaders } from './loaders/create-loaders.js';
import type { QueryParameters } from './model/request-target.js';
import { type Ask, createAsk, listenToChanges, type Question } from './rest/v1/ask.js';
import type { EventPage } from './rest/v1/presenters/changes.js';
import {
  type DnsRecordResult,
  dnsRecordFragment,
  presentDnsRecord,
} from './rest/v1/presenters/dns-records.js';

export type { Ask, Question };

export interface Asking {
  readonly ask: Ask;
  readonly lastSeen: LastSeen;
  /** The changes of all domains, as they are recorded, until the signal is aborted: see listenToChanges(). */
  follow(parameters: QueryParameters, signal: AbortSignal): AsyncGenerator<EventPage, void, void>;
}

/** Local access is unlimited. */
const VIEWER: Viewer = { kind: 'token', rateLimitKey: 'command line', scopes: new Set(SCOPES) };
const UNLIMITED = { anonymous: Number.MAX_SAFE_INTEGER, token: Number.MAX_SAFE_INTEGER };

export function createAsking(database: Pick<Database, 'prisma' | 'searchPrisma' | 'distribution'>): Asking {
  const tables = tablesOf(database.distribution);
  const loaders = createLoaders(database, { tables });
  const feed = new Feed(database.prisma, { tables });
  const executor = new GraphqlExecutor({ loaders, feed, rateLimits: UNLIMITED });
  return {
    ask: createAsk(executor, VIEWER),
    lastSeen: createLastSeen(executor),
    follow: (parameters, signal) => listenToChanges(executor, VIEWER, parameters, signal),
  };
}

/**
 * When what is present of a domain was last seen: records by the JSON of their `data`, headers by their names.
 *
 * @param at RFC 3339; undefined: now.
 */
export type LastSeen = (domain: string, at?: string) => Promise<ReadonlyMap<string, string>>;

const PRESENT = `query ($domain: String!, $at: Timestamp) { domain(name: $domain, at: $at) {
  dnsRecords(present: true) { ...DnsRecordFields ... on DnsRecordEntry { lastSeen } }
  httpHeaders { name present lastSeen } } } ${dnsRecordFragment()}`;

/** A list is null that is too long. */
interface Present {
  readonly dnsRecords: readonly (DnsRecordResult & { readonly lastSeen: string })[] | null;
  readonly httpHeaders: readonly { name: string; present: boolean; lastSeen: string }[] | null;
}

/** REST v1 does not tell it: this is a question of the terminal's own. */
function createLastSeen(executor: GraphqlExecutor): LastSeen {
  const operation = executor.prepare(PRESENT);
  const caller = { viewer: VIEWER, signal: NEVER_GONE };
  return async (domain, at) => {
    const { data } = await executor.executeStored(operation, { domain, at }, caller, executor.primary, false);
    const found = data?.['domain'] as Present | null | undefined;
    const headers = found?.httpHeaders?.filter(({ present }) => present) ?? [];
    const records = found?.dnsRecords ?? [];
    return new Map([
      ...headers.map(({ name, lastSeen }) => [name, lastSeen] as const),
      ...records.map((each) => [JSON.stringify(presentDnsRecord(each).data), each.lastSeen] as const),
    ]);
  };
}
