import { isIP } from 'node:net';
import { attempt } from '../model/attempt.js';
import { UsageError } from '../model/errors.js';
import { isLoopback } from '../model/ip-address.js';
import { isPublicAddress } from '../observer/public-address.js';
import { mailbox } from './mail.js';
import type { Sending } from './receiver.js';

/**
 * The address of a receiver.
 *
 * @throws UsageError, which does not show it, for any that no message can be sent to.
 */
export function receiverAddress(text: string, { allowPrivate, smtp }: Sending): URL {
  const url = attempt(() => new URL(text));
  if (url?.protocol === 'mailto:' && mailbox(url) !== undefined) {
    if (smtp !== undefined) return url;
    throw new UsageError('--url: mail is sent by the server in SMTP_URL, which is not set.');
  }
  const host = url?.hostname.replace(/^\[|\]$/g, '') ?? '';
  const isHere = host === 'localhost' || isLoopback(host);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isHere);
  if (url === undefined || !isSafe || url.username !== '' || url.password !== '') {
    throw new UsageError(
      '--url is no address that messages are sent to (it is not shown, since it may be a secret): write ' +
        'https://… without user and password (http is for this machine only), or mailto: and a mail address.',
    );
  }
  if (!allowPrivate && (host === 'localhost' || (isIP(host) !== 0 && !isPublicAddress(host)))) {
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
