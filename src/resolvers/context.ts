import type { Viewer } from '../auth/viewer.js';
import type { Loaders } from '../loaders/create-loaders.js';
import type { Recipient } from '../loaders/recipient.js';
import type { AnswerBudget } from './answer-budget.js';

/** What every resolver of a request shares. */
export interface RequestContext {
  readonly viewer: Viewer;
  readonly loaders: Loaders;
  /** Whether the request's domain was counted against the rate limit by an operation before. */
  readonly counted?: boolean;
  /** What may be read from lists; absent: without a limit, for operations of this program's own. */
  readonly answer?: AnswerBudget | undefined;
  /** Who gets the answer: what is loaded for a client that has gone is dropped. */
  readonly recipient?: Recipient | undefined;
}
