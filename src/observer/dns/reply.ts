import { type Failed, failed } from './failed.js';
import { answersQuestion, type Header, readHeader } from './header.js';
import type { NameServer } from './name-server.js';
import type { Question } from './question.js';

/** What has come of sending a question to a server once. */
export type Reply = { readonly kind: 'replied'; readonly header: Header; readonly message: Buffer } | Failed;

/** The reply that a message is to the question with this id; undefined if it is to something else. */
export function replyIn(message: Buffer, question: Question, id: number): Reply | undefined {
  const header = readHeader(message);
  if (header === undefined || header.id !== id || !answersQuestion(question, header, message))
    return undefined;
  return { kind: 'replied', header, message };
}

/** Only messages came that are no reply to the question. */
export function mismatched(server: NameServer): Failed {
  return failed('mismatched', `only answers to something else came from ${server.text}`);
}

/** Nothing came in time. */
export function timedOut(server: NameServer): Failed {
  return failed('timeout', `no answer from ${server.text} in time`);
}

/** @param reason The system's, such as `ECONNREFUSED`. */
export function unreachable(server: NameServer, reason: string): Failed {
  return failed('unreachable', `${server.text} cannot be reached (${reason})`);
}
