import type { Change } from '../loaders/changes.js';
import type { DnsEntry } from '../loaders/dns-entries.js';
import type { DomainRow } from '../loaders/domain-row.js';
import type { HeaderEntry, HeaderHistoryItem } from '../loaders/header-entries.js';
import type { HeaderMatch } from '../loaders/search-headers.js';
import type { RecordMatch } from '../loaders/search-records.js';
import type { Instant } from '../model/instant.js';

// Apart from connection.ts, since the generated types of resolvers have these.

/** A page of a list: its nodes, and how cursors are written. */
export interface PageOf<Node> {
  readonly nodes: readonly Node[];
  /** The cursor after which the next page begins; null on the last one. */
  readonly next: string | null;
  /** Whether the page begins after a cursor. */
  readonly hasPreviousPage: boolean;
  /** Where the page ends, where that is known without `next` and a node. */
  readonly end?: string;
  cursorOf(node: Node): string;
}

/** A node of a page with its cursor. */
export interface EdgeOf<Node> {
  readonly node: Node;
  readonly cursor: string;
}

export type ChangePage = PageOf<Change>;
export type RecordMatchPage = PageOf<RecordMatch>;
export type HeaderMatchPage = PageOf<HeaderMatchAt>;
export type DomainPage = PageOf<DomainRow>;
export type DomainEdge = EdgeOf<DomainRow>;
export type RecordPage = PageOf<DnsEntry>;
export type HeaderPage = PageOf<HeaderEntry>;
export type HeaderHistoryPage = PageOf<HeaderHistoryItem>;

/** A match, and as of when its domain is. */
export interface HeaderMatchAt extends HeaderMatch {
  readonly at: Instant | undefined;
}
