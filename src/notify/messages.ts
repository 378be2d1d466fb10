import { randomUUID } from 'node:crypto';
import type { SMTPTransportOptions } from 'nodemailer';
import type { Instant } from '../model/instant.js';
import { printable } from '../model/text.js';
import type { RestChange } from './changes.js';
import type { Answer } from './delivery.js';
import { titleOf } from './feeds.js';
import type { Notification } from './notifications.js';

export type Told =
  | { readonly type: 'changes'; readonly changes: readonly RestChange[] }
  /** What was recorded between is not in the feed any more. */
  | { readonly type: 'gap'; readonly after: string; readonly until: string }
  | { readonly type: 'watch'; readonly domains: readonly WatchedState[] }
  | { readonly type: 'test' };

export interface WatchedState {
  readonly domain: string;
  readonly state: 'failing' | 'recovered';
  /** In a row. */
  readonly failures: number;
}

export interface Message {
  readonly notification: string;
  readonly at: Instant;
  readonly told: Told;
  /** Paths of the service, or templates of them (RFC 6570). */
  readonly links?: Readonly<Record<string, string>>;
}

/** In the form of its receiver. */
export interface KeptMessage extends Pick<Notification, 'url' | 'secret'> {
  /** Never used for another body. */
  readonly id: string;
  readonly body: string;
}

export interface Sending {
  readonly allowPrivate: boolean;
  /** Undefined: no mail can be sent. */
  readonly smtp: (SMTPTransportOptions & { readonly from: string }) | undefined;
}

export interface Receiver {
  bodyOf(message: Message): string;
  /** Sends it once; it never rejects. @param signal Ends it. */
  send(message: KeptMessage, sending: Sending, signal: AbortSignal): Promise<Answer>;
}

export const newMessageId = () => `msg_${randomUUID()}`;

/** A message for people: a title, and a line for each change, as feeds have it. */
export function textOf({ notification, told }: Message): readonly [title: string, ...lines: string[]] {
  switch (told.type) {
    case 'changes': {
      const { length } = told.changes;
      const title = `${notification}: ${length} ${length === 1 ? 'change' : 'changes'}`;
      return [title, ...told.changes.map((change) => printable(titleOf(change)))];
    }
    case 'gap':
      return [`${notification}: changes between ${told.after} and ${told.until} are lost to it`];
    case 'watch': {
      const lines = told.domains.map(({ domain, state, failures }) => {
        const news = state === 'recovered' ? 'observed again' : `not observed, ${failures} times in a row`;
        return `${domain}: ${news}`;
      });
      return [`${notification}: watched domains`, ...lines];
    }
    case 'test':
      return [`${notification}: a test`];
  }
}
