import type { DomainChange, RestChange } from './messages.js';
import type { Filter } from './notifications.js';

/** What a sender reads changes by. */
export interface ChangesSource {
  /** A page of Changes. `next` is the cursor where it ends. @throws PublicError INVALID_CURSOR for one not in the feed. */
  page(parameters: Filter): Promise<{ readonly changes: readonly RestChange[]; readonly next: string }>;
  /** A page of the changes of a domain. @throws PublicError DOMAIN_NOT_FOUND once it is erased. */
  ofDomain(
    parameters: Filter,
  ): Promise<{ readonly changes: readonly DomainChange[]; readonly next: string | null }>;
  /** The cursor of the end of the feed. @throws PublicError for a filter that is not valid. */
  end(filter: Filter): Promise<string>;
}

/** Questions of REST, as the command line asks them. */
interface Questions {
  ask<Body>(question: { readonly operation: string; readonly parameters: Filter }): Promise<Body>;
  follow(filter: Filter, signal: AbortSignal): AsyncGenerator<{ readonly end: string }, void, void>;
}

/** Makes the source of what answers questions of REST. */
export function changesOf({ ask, follow }: Questions): ChangesSource {
  return {
    page: (parameters) => ask({ operation: 'getChanges', parameters }),
    ofDomain: (parameters) => ask({ operation: 'getDomainChanges', parameters }),
    async end(filter) {
      // Its first page is empty, and has the place where it begins.
      for await (const { end } of follow(filter, new AbortController().signal)) return end;
      throw new Error('The stream of changes has no first page.');
    },
  };
}
