import { isIP } from 'node:net';
import { attempt } from '../model/attempt.js';
import { UsageError } from '../model/errors.js';
import { hostOfUrl, isLoopback } from '../model/ip-address.js';
import { isPublicAddress } from '../observer/public-address.js';
import { MAIL, mailbox } from './mail.js';
import type { Receiver, Sending } from './messages.js';
import { SLACK, WEBHOOK } from './webhook.js';

const RECEIVERS: Readonly<Record<string, Receiver>> = { json: WEBHOOK, slack: SLACK, mail: MAIL };

/** @throws Error for a form that only a later version knows. */
export function receiverOf(form: string): Receiver {
  const receiver = RECEIVERS[form];
  if (receiver !== undefined) return receiver;
  throw new Error(`This version knows no notification of the form ${form}.`);
}

/** @throws UsageError, which does not show it, for an address that no message can be sent to. */
export function receiverAddress(text: string, { allowPrivate, smtp }: Sending): URL {
  const url = attempt(() => new URL(text));
  if (url !== undefined && mailbox(url) !== undefined) {
    if (smtp !== undefined) return url;
    throw new UsageError('--url: mail is sent by the server in SMTP_URL, which is not set.');
  }
  const host = url === undefined ? '' : hostOfUrl(url);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(host));
  // URL takes https:///a for https://a, and a port of 0 leads to that of the scheme.
  const isWhole = /^https?:\/\/[^/\\]/i.test(text) && url?.port !== '0';
  if (url === undefined || !isSafe || !isWhole || url.username !== '' || url.password !== '') {
    throw new UsageError(
      '--url is no address that messages are sent to (it is not shown, since it may be a secret): write ' +
        'https://… without user and password (http is for this machine only), or mailto: and a mail address.',
    );
  }
  if (!allowPrivate && (isLoopback(host) || (isIP(host) !== 0 && !isPublicAddress(host)))) {
    throw new UsageError(
      `--url: ${host} is not a public address: set NOTIFY_PRIVATE=allow, or choose another.`,
    );
  }
  return url;
}

/** An address without what may be a secret: whoever knows that of a chat can write there. */
export function shortAddress(text: string): string {
  const { protocol, origin, pathname, search } = new URL(text);
  if (protocol === 'mailto:') return text;
  return pathname === '/' && search === '' ? origin : `${origin}/…`;
}
