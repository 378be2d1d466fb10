import { MAIL } from './mail.js';
import type { Receiver } from './receiver.js';
import { SLACK } from './slack.js';
import { WEBHOOK } from './webhook.js';

/** The kinds of receivers, by the form of their messages. */
const RECEIVERS: Readonly<Record<string, Receiver>> = { json: WEBHOOK, slack: SLACK, mail: MAIL };

/** @throws Error for a form that only a later version knows. */
export function receiverOf(form: string): Receiver {
  const receiver = RECEIVERS[form];
  if (receiver === undefined) throw new Error(`This version knows no notification of the form ${form}.`);
  return receiver;
}
