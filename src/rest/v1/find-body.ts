import type { GraphqlExecutor } from '../../graphql/execute.js';
import { LargeHistories, largeOctetsIn } from './large-history.js';
import { writeBody } from './media-types.js';
import { type Asked, type FoundBody, foundIn, readStoredOperation } from './prepared-routes.js';
import { nextOf } from './presenters/body.js';

/**
 * Runs the operation of a route: that of a large history by pages.
 *
 * @throws as foundIn() does.
 */
export async function findBody(executor: GraphqlExecutor, asked: Asked): Promise<FoundBody> {
  const { route, variables, countedFrom, mediaType, caller, loaders } = asked;
  const stored = mediaType === 'text/csv' ? route.table : route.stored;
  const result = await executor.executeStored(
    stored,
    variables,
    caller,
    loaders,
    route.body.lists !== undefined,
  );
  const large = largeOctetsIn(result);
  if (large > 0) return largeHistories(executor).read(asked, large);
  const found = foundIn(result, route, variables);
  const body = writeBody(route.body, found, countedFrom, mediaType);
  return { state: found, body, next: nextOf(route.body.page?.pageIn(found), countedFrom) };
}

/** One for each executor, since it limits how many are read at once. */
const known = new WeakMap<GraphqlExecutor, LargeHistories>();

function largeHistories(executor: GraphqlExecutor): LargeHistories {
  const found = known.get(executor) ?? new LargeHistories(executor, readStoredOperation);
  known.set(executor, found);
  return found;
}
