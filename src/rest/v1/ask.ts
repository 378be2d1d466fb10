import type { Viewer } from '../../auth/viewer.js';
import type { GraphqlExecutor } from '../../graphql/execute.js';
import { type ClientSignal, NEVER_ABORTED } from '../../limits/caller.js';
import { errorIn, foundIn as streamed } from './event-stream.js';
import { findBody } from './find-body.js';
import { now } from './handler.js';
import { type PreparedRoute, prepareRoute } from './prepared-routes.js';
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
      mediaType: 'application/json',
      caller: { viewer, signal: NEVER_ABORTED },
      loaders: executor.primary,
    } as const;
    const { body } = await findBody(executor, asked);
    return JSON.parse(typeof body === 'string' ? body : Buffer.concat(body).toString());
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
    executor.contextFor({ viewer, signal: clientSignal(signal) }),
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

/** The signal of a client that ends by an AbortSignal. */
function clientSignal(signal: AbortSignal): ClientSignal {
  return {
    get aborted() {
      return signal.aborted;
    },
    onAbort: (listener) => signal.addEventListener('abort', listener, { once: true }),
  };
}

function queryOf(parameters: Question['parameters']): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value = []] of Object.entries(parameters)) {
    for (const text of [value].flat()) query.append(name, text);
  }
  return query;
}
