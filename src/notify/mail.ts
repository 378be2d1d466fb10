import { attempt } from '../model/attempt.js';
import { messageOf } from '../model/errors.js';
import { type Receiver, textOf } from './messages.js';

/** In milliseconds. Servers examine a mail before they accept it. */
const TIMES = { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 60_000 };

/** Its message is kept as JSON: `subject` and `text`. */
export const MAIL: Receiver = {
  bodyOf(message) {
    const [subject, ...lines] = textOf(message);
    return JSON.stringify({ subject, text: `${[subject, '', ...lines].join('\n')}\n` });
  },
  async send({ url, id, body }, { smtp }) {
    if (smtp === undefined) return { status: 0, said: 'SMTP_URL is not set' };
    const { from, ...server } = smtp;
    try {
      // Loaded only where mail is sent.
      const { createTransport } = await import('nodemailer');
      const { subject, text } = JSON.parse(body) as { subject: string; text: string };
      await createTransport({ ...server, ...TIMES }).sendMail({
        from,
        to: mailbox(new URL(url)),
        subject,
        text,
        // The same each time it is sent (RFC 5322, section 3.6.4).
        messageId: `<${id}@${from.slice(from.lastIndexOf('@') + 1)}>`,
        // Nobody is to answer it automatically (RFC 3834, section 5).
        headers: { 'Auto-Submitted': 'auto-generated' },
      });
      // What a server accepts is its own to deliver (RFC 5321, section 4.2.5).
      return { status: 250, said: 'accepted by the mail server' };
    } catch (error) {
      return { status: 0, said: messageOf(error) };
    }
  },
};

/** The address of `mailto:…` (RFC 6068), one without header fields; undefined for any other URL. */
export function mailbox({ protocol, pathname, search }: URL): string | undefined {
  if (protocol !== 'mailto:' || search !== '') return undefined;
  const address = attempt(() => decodeURIComponent(pathname)) ?? '';
  return /^[^\s@,;<>"]+@[^\s@,;<>"]+$/.exec(address)?.[0];
}
