import type { Viewer } from '../../auth/viewer.js';
import type { GraphqlExecutor, Recipient } from '../../graphql/execute.js';
import { errorIn, foundIn as streamed } from './event-stream.js';
import { findBody, now, type PreparedRoute, prepareRoute } from './handler.js';
import { type DnsRecordResult, dnsRecordFragment, presentDnsRecord } from './presenters/dns-records.js';
import { ROUTES } from './routes.js';

/** An operation of REST v1, with the values of its parameters by their names; `domain` is that of the path. */
export interface Question {
  /** Its `operationId`. */
  readonly operation: string;
  readonly parameters: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Whether what is found has all that a table of it has, such as `lastSeen`. */
  readonly asTable?: boolean;
}

/**
 * Asks REST v1 without HTTP: the same operations, resolvers and bodies.
 *
 * @returns the body.
 * @throws PublicError as the operation does.
 */
export type Ask = <Body>(question: Question) => Promise<Body>;

/** Makes what asks as a viewer, whose scopes are not checked. */
export function createAsk(executor: GraphqlExecutor, viewer: Viewer): Ask {
  const prepared = new Map<string, PreparedRoute>();
  return async <Body>({ operation, parameters, asTable = false }: Question): Promise<Body> => {
    const row = ROUTES.find(({ operationId }) => operationId === operation);
    if (row === undefined) throw new Error(`There is no operation ${operation}.`);
    const route = prepared.get(operation) ?? prepareRoute(executor, row);
    prepared.set(operation, route);
    const { domain, ...others } = parameters;
    const path = row.path.replace('{domain}', encodeURIComponent(String(domain ?? '')));
    const requested = route.readParameters(path.split('/'), `${path}?${queryOf(others)}`, now());
    const asked = {
      route: asTable ? { ...route, stored: route.table } : route,
      ...requested,
      ...{ ...WITHOUT_HTTP, viewer, loaders: executor.readFrom() },
    };
    const { body } = await findBody(executor, asked, false);
    return JSON.parse(typeof body === 'string' ? body : Buffer.concat(body).toString());
  };
}

const WITHOUT_HTTP = { mediaType: 'application/json', recipient: undefined } as const;

/**
 * When what is present of a domain was last seen: records by the JSON of their `data`, headers by their names.
 *
 * @param at RFC 3339; undefined: now.
 */
export type LastSeen = (domain: string, at?: string) => Promise<ReadonlyMap<string, string>>;

const PRESENT = `query ($domain: String!, $at: Timestamp) { domain(name: $domain, at: $at) {
  dnsRecords(present: true) { ...DnsRecordFields ... on DnsRecordEntry { lastSeen } }
  httpHeaders { name present lastSeen } } } ${dnsRecordFragment()}`;

interface Present {
  readonly domain: {
    readonly dnsRecords: readonly (DnsRecordResult & { readonly lastSeen: string })[];
    readonly httpHeaders: readonly {
      readonly name: string;
      readonly present: boolean;
      readonly lastSeen: string;
    }[];
  } | null;
}

/** Makes what tells when it was last seen, as a viewer whose scopes are not checked. */
export function createLastSeen(executor: GraphqlExecutor, viewer: Viewer): LastSeen {
  const operation = executor.prepare(PRESENT);
  return async (domain, at) => {
    const result = await executor.executeStored(operation, { domain, at }, viewer);
    if (result.errors !== undefined) throw errorIn(result);
    const { domain: found }: Present = JSON.parse(JSON.stringify(result.data));
    const headers = found?.httpHeaders.filter(({ present }) => present) ?? [];
    return new Map([
      ...headers.map(({ name, lastSeen }) => [name, lastSeen] as const),
      ...(found?.dnsRecords ?? []).map(
        (record) => [JSON.stringify(presentDnsRecord(record).data), record.lastSeen] as const,
      ),
    ]);
  };
}

/** What happens anywhere, as it is recorded: each change with its cursor. */
export interface Followed {
  readonly cursor: string;
  /** An item of the body of Changes. */
  readonly change: object;
}

/** Some changes, and the cursor to continue with after them. */
export interface FollowedPage {
  readonly changes: readonly Followed[];
  readonly cursor: string;
}

/**
 * Listens to the stream of Changes without HTTP.
 *
 * @param parameters Those of the stream.
 * @param signal Ends it.
 * @returns pages of what was recorded, and the cursor where each ends; it ends as the streams of HTTP do.
 * @throws PublicError as a stream does.
 */
export async function* listenToChanges(
  executor: GraphqlExecutor,
  viewer: Viewer,
  parameters: Question['parameters'],
  signal: AbortSignal,
): AsyncGenerator<FollowedPage, void, void> {
  const row = ROUTES.find(({ live }) => live !== undefined);
  const stream = row && prepareRoute(executor, row).stream;
  if (row === undefined || stream === undefined) throw new Error('There is no stream of changes.');
  const { variables } = stream.readParameters(
    row.path.split('/'),
    `${row.path}?${queryOf(parameters)}`,
    now(),
  );
  const results = await executor.subscribeStored(
    stream.stored,
    variables,
    executor.contextFor(viewer, recipientOf(signal)),
  );
  if (!(Symbol.asyncIterator in results)) throw errorIn(results);
  try {
    for await (const result of results) {
      const { events, end } = stream.present(streamed(result));
      yield { changes: events.map(({ id, data }) => ({ cursor: id, change: data })), cursor: end };
    }
  } finally {
    await results.return?.();
  }
}

/** What a stream is read for, until the signal is aborted. */
function recipientOf(signal: AbortSignal): Recipient {
  return {
    get destroyed() {
      return signal.aborted;
    },
    headersSent: true,
    req: { socket: { destroy: () => {} } },
    once: (_event, listener) => signal.addEventListener('abort', listener, { once: true }),
  };
}

function queryOf(parameters: Question['parameters']): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value = []] of Object.entries(parameters)) {
    for (const text of [value].flat()) query.append(name, text);
  }
  return query;
}
