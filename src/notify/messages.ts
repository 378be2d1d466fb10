import type { Instant } from '../model/instant.js';
import { formatInstant } from '../model/instant.js';

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

/** What a notification tells. Its members are those of `data` in a message. */
export type Told =
  | { readonly type: 'changes'; readonly changes: readonly RestChange[]; readonly links: Links }
  /** What was recorded between is not in the feed any more. */
  | { readonly type: 'gap'; readonly after: string; readonly until: string; readonly links: Links }
  | { readonly type: 'watch'; readonly domains: readonly WatchedState[]; readonly links: Links }
  | { readonly type: 'test' };

/** A watched domain that fails, or has recovered. */
export interface WatchedState {
  readonly domain: string;
  readonly state: 'failing' | 'recovered';
  /** In a row. */
  readonly failures: number;
}

/** Paths of the service, or templates of them (RFC 6570). */
export type Links = Readonly<Record<string, string>>;

/** A message before it has the form of a receiver. */
export interface Message {
  readonly notification: string;
  readonly at: Instant;
  readonly told: Told;
}

/** The body of a message as JSON, as Standard Webhooks have it: `type`, `timestamp` and `data`. */
export function jsonOf({ notification, at, told: { type, ...data } }: Message): string {
  return JSON.stringify({ type, timestamp: formatInstant(at), data: { notification, ...data } });
}
