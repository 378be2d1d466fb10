import type { QueryParameters } from '../model/request-target.js';

export interface DomainChange {
  readonly id: string;
  readonly kind: string;
  readonly date: string;
  readonly source: string | null;
  readonly routine: string | null;
  // Of a record:
  readonly data?: Readonly<Record<string, unknown> & Record<'host' | 'class' | 'type', string>>;
  readonly rdata?: string;
  readonly lastSeen?: string;
  // Of a header:
  readonly name?: string | undefined;
  readonly old?: string | null;
  readonly new?: string | null;
  readonly earliest?: string;
  // Of the site:
  readonly oldStatus?: number | undefined;
  readonly newStatus?: number;
}

export type RestChange = DomainChange & { readonly domain: string };

/** Of REST, as the command line asks them. */
export interface Questions {
  ask<Body>(question: { readonly operation: string; readonly parameters: QueryParameters }): Promise<Body>;
  follow(filter: QueryParameters, signal: AbortSignal): AsyncGenerator<{ readonly end: string }, void, void>;
}

/** With the cursor where it ends; of Domain changes null: there are no more. */
export interface Page<Change> {
  readonly changes: readonly Change[];
  readonly next: string | null;
}

/** @returns the cursor of the end of the feed. @throws PublicError for a filter that is not valid. */
export async function endOfChanges({ follow }: Questions, filter: QueryParameters): Promise<string> {
  // The first page is empty, and has the place where it begins.
  for await (const { end } of follow(filter, new AbortController().signal)) return end;
  throw new Error('The stream of changes has no first page.');
}
