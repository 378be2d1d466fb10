import type { Viewer } from '../../auth/viewer.js';
import type { GraphqlExecutor } from '../../graphql/execute.js';
import { NEVER_GONE, signalUntil } from '../../limits/caller.js';
import { memoized } from '../../model/memoized.js';
import { type QueryParameters, queryOf } from '../../model/request-target.js';
import { eventPages } from './event-stream.js';
import { bodyFinder } from './find-body.js';
import { readParameters } from './parameters.js';
import { prepareRoute } from './prepared-routes.js';
import type { EventPage } from './presenters/changes.js';
import { ROUTES } from './routes.js';

/** An operation of REST v1, with the values of its parameters by their names; `domain` is that of the path. */
export interface Question {
  readonly operation: string;
  readonly parameters: QueryParameters;
  /** Whether what is found has all that a table of it has, such as `lastSeen`. */
  readonly asTable?: boolean;
}

/** Asks REST v1 for a body, without HTTP. @throws PublicError as the operation does. */
export type Ask = <Body>(question: Question) => Promise<Body>;

/** @param viewer Its scopes are not checked. */
export function createAsk(executor: GraphqlExecutor, viewer: Viewer): Ask {
  const routeOf = memoized((operation: string) => {
    const row = ROUTES.find(({ operationId }) => operationId === operation);
    if (row === undefined) throw new Error(`There is no operation ${operation}.`);
    return prepareRoute(executor, row);
  });
  const findBody = bodyFinder(executor);
  return async <Body>({ operation, parameters, asTable = false }: Question): Promise<Body> => {
    const route = routeOf(operation);
    const { domain, ...others } = parameters;
    const segment = domain === undefined ? undefined : encodeURIComponent(String(domain));
    const requested = readParameters(route.parameters, segment, queryOf(others));
    const { body } = await findBody({
      route: asTable ? { ...route, stored: route.table } : route,
      ...requested,
      mediaType: 'application/json',
      caller: { viewer, signal: NEVER_GONE },
      loaders: executor.primary,
    });
    return JSON.parse(typeof body === 'string' ? body : Buffer.concat(body).toString());
  };
}

/** The stream of Changes without HTTP: it ends as those of HTTP do. @throws PublicError */
export async function* listenToChanges(
  executor: GraphqlExecutor,
  viewer: Viewer,
  parameters: QueryParameters,
  signal: AbortSignal,
): AsyncGenerator<EventPage, void, void> {
  const row = ROUTES.find((route) => route['x-stream'] !== undefined);
  const stream = row && prepareRoute(executor, row).stream;
  if (stream == null) throw new Error('There is no stream of changes.');
  const { variables } = readParameters(stream.parameters, undefined, queryOf(parameters));
  yield* eventPages(stream, variables, { viewer, signal: signalUntil(signal) });
}
