import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { formatInstant } from '../model/instant.js';
import type { Receiver } from './messages.js';
import { post } from './post.js';

/** A secret as Standard Webhooks write it. */
export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** A receiver of signed JSON (https://www.standardwebhooks.com/). */
export const WEBHOOK: Receiver = {
  bodyOf: ({ notification, at, told: { type, ...told }, links }) =>
    JSON.stringify({ type, timestamp: formatInstant(at), data: { notification, ...told, links } }),
  async send(message, sending, signal) {
    const { id, body, secret } = message;
    const time = new Date();
    const fields = {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(time.getTime() / 1000)),
      'webhook-signature': new Webhook(secret ?? '').sign(id, time, body),
    };
    return post(message, fields, sending, signal);
  },
};
