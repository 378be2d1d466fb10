import { randomBytes } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { request as requestByHttp } from 'node:http';
import { request as requestByHttps } from 'node:https';
import { Webhook } from 'standardwebhooks';
import { messageOf } from '../model/errors.js';
import { formatInstant } from '../model/instant.js';
import { hostOfUrl } from '../model/ip-address.js';
import { guardedLookup, PrivateAddressError, selectAddresses } from '../observer/http/target.js';
import type { Answer } from './delivery.js';
import { type KeptMessage, type Message, type Receiver, type Sending, textOf } from './messages.js';

/** As Standard Webhooks write it. */
export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** Signed JSON (https://www.standardwebhooks.com/). */
export const WEBHOOK: Receiver = {
  bodyOf: ({ notification, at, told: { type, ...told }, links }) =>
    JSON.stringify({ type, timestamp: formatInstant(at), data: { notification, ...told, links } }),
  send(message, sending, signal) {
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

/** A chat with incoming webhooks like Slack's: Mattermost, Rocket.Chat, Discord at its `…/slack`, too. */
export const SLACK: Receiver = {
  bodyOf: (message) => JSON.stringify({ text: chatText(message) }),
  send: (message, sending, signal) => post(message, {}, sending, signal),
};

/** In milliseconds, from the look-up of the name to the head of the response. */
const TIMEOUT = 10_000;

/**
 * Posts JSON. Redirections are not followed: their target was not the one that was chosen. Of the response only
 * the head is read.
 */
async function post(
  { url: address, body }: KeptMessage,
  fields: Readonly<Record<string, string>>,
  { allowPrivate }: Sending,
  signal: AbortSignal,
): Promise<Answer> {
  const timeout = AbortSignal.timeout(TIMEOUT);
  try {
    const url = new URL(address);
    // A socket looks no address up, and so checks none.
    const found = await lookup(hostOfUrl(url), { all: true });
    const addresses = found.map((each) => each.address);
    if (selectAddresses(addresses, allowPrivate).length === 0) throw new PrivateAddressError(addresses);
    const options = {
      method: 'POST',
      headers: { ...fields, 'content-type': 'application/json', 'user-agent': 'domain-metadata-service' },
      agent: false,
      lookup: guardedLookup(addresses, allowPrivate),
      signal: AbortSignal.any([signal, timeout]),
    };
    const request = url.protocol === 'https:' ? requestByHttps : requestByHttp;
    return await new Promise<Answer>((answered, failed) => {
      request(url, options, (response) => {
        const { statusCode: status = 0, headers } = response;
        answered({ status, said: `HTTP ${status}`, retryAfter: headers['retry-after'] });
        // A receiver could send without end.
        response.destroy();
      })
        .on('error', failed)
        .end(body);
    });
  } catch (error) {
    return { status: 0, said: timeout.aborted ? 'no response in time' : messageOf(error) };
  }
}

/** In characters: Discord takes 2,000, the others more. */
const MAX_TEXT = 1_800;

/** The title, the first lines that fit, and how many there are beyond them. */
function chatText(message: Message): string {
  const [title, ...lines] = textOf(message).map(withoutMarkup);
  const items = lines.map((line) => `• ${line}`);
  let length = 0;
  const end = items.findIndex((item) => {
    length += item.length + 1;
    return length > MAX_TEXT;
  });
  const shown = end === -1 ? items : [...items.slice(0, end), `and ${items.length - end} more`];
  return [title, ...shown].join('\n');
}

/**
 * Anyone can write `<!channel>` or `@here` into a TXT record: Slack's control characters are escaped, and after
 * an `@` there is a ZERO WIDTH SPACE, so that nobody is called.
 */
function withoutMarkup(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return escaped.replaceAll('@', '@\u{200b}');
}
