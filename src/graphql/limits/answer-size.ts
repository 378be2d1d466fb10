import { QueryTooComplexError } from './refuse.js';

const QUOTATION_MARKS = 2;
const COLON = 1;
const COMMA = 1;
/** A number, `true`, `false` or `null`. */
const LITERAL = 5;

/** Of JSON: 100 domains with every field have two million. */
const MOST_CHARACTERS = 10_000_000;

/**
 * Holds an answer within its limit, before it is written: a value of the database stands in it once for each
 * alias, and written out it can be many times as long as what it was made from.
 *
 * @param data Of JSON values; characters that are escaped count as one.
 * @throws QueryTooComplexError
 */
export function requireModestAnswer(data: unknown): void {
  if (charactersLeft(data, MOST_CHARACTERS) >= 0) return;
  throw new QueryTooComplexError(
    `The answer would have more than ${MOST_CHARACTERS} characters: ask for fewer domains, types, names or fields in one request.`,
  );
}

/** What is left of so many characters after a value; negative as soon as it is too little. */
function charactersLeft(value: unknown, before: number): number {
  if (typeof value === 'string') return before - value.length - QUOTATION_MARKS;
  if (typeof value !== 'object' || value === null) return before - LITERAL;
  let left = before;
  if (Array.isArray(value)) {
    for (const entry of value) {
      left = charactersLeft(entry, left - COMMA);
      if (left < 0) break;
    }
    return left;
  }
  const members: readonly (readonly [name: string, member: unknown])[] = Object.entries(value);
  for (const [name, member] of members) {
    left = charactersLeft(member, left - name.length - QUOTATION_MARKS - COLON - COMMA);
    if (left < 0) break;
  }
  return left;
}
