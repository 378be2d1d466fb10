import type { GraphQLFormattedError } from 'graphql';

/** The seconds of a `Retry-After` header: the longest that any of a response's errors asks to wait. */
export function retryAfterOf(errors: readonly GraphQLFormattedError[] | undefined): number | undefined {
  const seconds = (errors ?? []).flatMap(({ extensions }) => {
    const retryAfter = extensions?.['retryAfter'];
    return typeof retryAfter === 'number' ? [retryAfter] : [];
  });
  return seconds.length === 0 ? undefined : Math.max(...seconds);
}
