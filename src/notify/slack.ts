import type { Message } from './messages.js';
import { post } from './post.js';
import type { Receiver } from './receiver.js';
import { firstOf, textOf } from './text.js';

/** In characters: Discord takes 2,000, the others more. */
const LONGEST_TEXT = 1_800;

/** A chat with Slack's incoming webhooks: Slack itself, Mattermost, Rocket.Chat, and Discord at its address with `/slack`. */
export const SLACK: Receiver = {
  bodyOf: (message) => JSON.stringify({ text: chatText(message) }),
  send: ({ url, body }, { allowPrivate }, signal) => post(url, {}, body, allowPrivate, signal),
};

function chatText(message: Message): string {
  const { title, lines } = textOf(message);
  const items = lines.map((line) => `• ${harmless(line)}`);
  return [harmless(title), ...firstOf(items, LONGEST_TEXT)].join('\n');
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/**
 * Anyone can write `<!channel>` or `@here` into a TXT record: Slack's control characters are escaped, and after an `@` there is a
 * ZERO WIDTH SPACE, so that nobody is called.
 */
function harmless(text: string): string {
  return text.replace(/[&<>]/g, (character) => ENTITIES[character] ?? '').replaceAll('@', '@\u{200b}');
}
