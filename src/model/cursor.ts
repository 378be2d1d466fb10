import { createHash } from 'node:crypto';
import { attempt } from './attempt.js';
import { PublicError } from './errors.js';

export const MAX_PER_PAGE = 500;

/** Of the SHA-256, at the beginning of a cursor. */
const DIGEST_OCTETS = 9;

/** Of places where pages end. @param question The same for all pages of a question, and for no other. */
export function cursorsOf(question: string) {
  // Once for all cursors of a page: a question may have lists of half a megabyte.
  const ofQuestion = createHash('sha256').update(`${question}\n`);
  const write = (text: Buffer) => {
    const digest = ofQuestion.copy().update(text).digest().subarray(0, DIGEST_OCTETS);
    return Buffer.concat([digest, text]).toString('base64url');
  };
  return {
    write: (place: unknown): string => write(Buffer.from(JSON.stringify(place))),

    /**
     * @param placeIn Undefined for what is no place of the question: the digest is no secret.
     * @throws PublicError INVALID_CURSOR for what write() has not written for the same question.
     */
    read<Place>(name: string, cursor: string, placeIn: (value: unknown) => Place | undefined): Place {
      const text = Buffer.from(cursor, 'base64url').subarray(DIGEST_OCTETS);
      // Base64url may be written in several ways, of which one is a cursor.
      const place = write(text) === cursor ? placeIn(attempt(() => JSON.parse(text.toString()))) : undefined;
      if (place !== undefined) return place;
      throw new PublicError(
        'INVALID_CURSOR',
        `${name}: this is not a cursor of this question. Use one of a page or an event of the same operation with the same other arguments, as it was given, or begin without a cursor.`,
      );
    },
  };
}
