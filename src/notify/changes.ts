/** A change as an item of REST's Domain changes. */
export interface DomainChange {
  readonly id: string;
  readonly kind: string;
  readonly date: string;
  readonly source: string | null;
  readonly routine: string | null;
  /** Of a record. */
  readonly data?: Readonly<Record<string, unknown>> & {
    readonly host: string;
    readonly class: string;
    readonly type: string;
  };
  readonly rdata?: string;
  readonly lastSeen?: string;
  /** Of a header. */
  readonly name?: string | undefined;
  readonly old?: string | null;
  readonly new?: string | null;
  readonly earliest?: string;
  /** Of the site. */
  readonly oldStatus?: number | undefined;
  readonly newStatus?: number;
}

/** A change as an item of REST's Changes. */
export interface RestChange extends DomainChange {
  readonly domain: string;
}

/** The parameters of Changes in REST that select. */
export type Filter = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Questions of REST, as the command line asks them. */
export interface Questions {
  ask<Body>(question: { readonly operation: string; readonly parameters: Filter }): Promise<Body>;
  follow(filter: Filter, signal: AbortSignal): AsyncGenerator<{ readonly end: string }, void, void>;
}

/** A page of Changes. `next` is the cursor where it ends. */
export interface ChangesPage {
  readonly changes: readonly RestChange[];
  readonly next: string;
}

/** The cursor of the end of the feed. @throws PublicError for a filter that is not valid. */
export async function endOfChanges({ follow }: Questions, filter: Filter): Promise<string> {
  // The first page is empty, and has the place where it begins.
  for await (const { end } of follow(filter, new AbortController().signal)) return end;
  throw new Error('The stream of changes has no first page.');
}
