import type { Viewer } from '../auth/viewer.js';
import type { Loaders } from '../loaders/create-loaders.js';
import type { DomainHistory, DomainHistoryKey } from '../loaders/domain-history.js';
import type { Recipient } from '../loaders/recipient.js';
import type { RequestBudget } from './request-budget.js';

/** What the resolvers of a request share. */
export interface RequestContext {
  readonly viewer: Viewer;
  readonly loaders: Loaders;
  /** Those of the primary, for what a replica does not have yet. */
  readonly primary: Loaders;
  readonly budget: RequestBudget;
  /** Called before a large history is read, with the approximate octets of a response with the parts that are needed; may reject. */
  readonly onLarge: (key: DomainHistoryKey, octets: number) => Promise<void>;
  /** The result of the field `domain`, in place of what is stored: a part of a large history. */
  readonly part?: DomainHistory;
  /** The response: nothing more is read for a disconnected client. */
  readonly recipient?: Recipient | undefined;
  /** Of a subscription: the cursor after which the client continues that has got all results before the latest. */
  resumeAfter?: string | undefined;
  /** Takes what Apollo Server fails with by itself, for the log. */
  readonly onInternalError?: ((error: unknown) => void) | undefined;
}
