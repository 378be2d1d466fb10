import type { Viewer } from '../auth/viewer.js';
import type { Loaders } from '../loaders/create-loaders.js';
import type { DomainHistory } from '../loaders/domain-history.js';
import type { Recipient } from '../loaders/recipient.js';
import type { RequestBudget } from './request-budget.js';

/** What every resolver of a request shares. */
export interface RequestContext {
  readonly viewer: Viewer;
  readonly loaders: Loaders;
  /** Whether the request's domain was counted against the rate limit by an operation before. */
  readonly counted?: boolean;
  readonly budget: RequestBudget;
  /** Whether long lists are executed in slices; a large history is an error where they are not. */
  readonly inSlices: boolean;
  /** What the only domain that is asked for is taken to be: a part of a large history. */
  readonly part?: DomainHistory;
  /** Who gets the answer: what is loaded for a client that has gone is dropped. */
  readonly recipient?: Recipient | undefined;
}
