import { type Message, type Receiver, textOf } from './messages.js';
import { post } from './post.js';

/** In characters: Discord takes 2,000, the others more. */
const LONGEST_TEXT = 1_800;

/** A chat with incoming webhooks like Slack's: Mattermost, Rocket.Chat, Discord at its `…/slack`, too. */
export const SLACK: Receiver = {
  bodyOf: (message) => JSON.stringify({ text: chatText(message) }),
  send: (message, sending, signal) => post(message, {}, sending, signal),
};

/** The title, the first lines that fit, and how many there are beyond them. */
function chatText(message: Message): string {
  const [title, ...lines] = textOf(message).map(harmless);
  const items = lines.map((line) => `• ${line}`);
  let length = 0;
  const end = items.findIndex((item) => {
    length += item.length + 1;
    return length > LONGEST_TEXT;
  });
  const shown = end === -1 ? items : [...items.slice(0, end), `and ${items.length - end} more`];
  return [title, ...shown].join('\n');
}

/**
 * Anyone can write `<!channel>` or `@here` into a TXT record: Slack's control characters are escaped, and after
 * an `@` there is a ZERO WIDTH SPACE, so that nobody is called.
 */
function harmless(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return escaped.replaceAll('@', '@\u{200b}');
}
