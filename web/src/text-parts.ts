import { diffArrays } from 'diff';

/** A part of a text that is the same in two, or in only one of them. */
export interface TextPart {
  readonly text: string;
  readonly in: 'both' | 'old' | 'new';
}

/** Texts that differ in more parts are compared as a whole: the effort grows with the differences. */
const MAX_DIFFERENCES = 200;

/**
 * Compares two values part by part: directives of policies, mechanisms of SPF, items of lists, words.
 *
 * @returns the parts in order; those of the old value before those of the new one in their place.
 */
export function compareTexts(before: string, after: string): readonly TextPart[] {
  const key = `${before.length} ${before}${after}`;
  const known = compared.get(key);
  if (known !== undefined) return known;
  const parts = comparison(before, after);
  // The oldest one goes.
  if (compared.size >= MAX_KEPT) compared.delete(compared.keys().next().value ?? '');
  compared.set(key, parts);
  return parts;
}

/** A list of changes is drawn again and again while others arrive. */
const compared = new Map<string, readonly TextPart[]>();
const MAX_KEPT = 500;

function comparison(before: string, after: string): readonly TextPart[] {
  const differences = diffArrays(partsOf(before), partsOf(after), { maxEditLength: MAX_DIFFERENCES });
  if (differences === undefined) {
    return [
      { text: before, in: 'old' },
      { text: after, in: 'new' },
    ];
  }
  return differences.map(({ value, added, removed }) => ({
    text: value.join(''),
    in: added ? 'new' : removed ? 'old' : 'both',
  }));
}

/** The parts of a value, each with the separator that follows it. Joined they are the value. */
export function partsOf(value: string): string[] {
  return value.match(/[^\s;,]*[\s;,]+|[^\s;,]+/g) ?? [];
}

/** A piece of a text: characters to show, or one that is not visible or changes the direction of others. */
export type Piece = string | { readonly codePoint: string };

/**
 * Control and format characters (bidirectional ones are among these), those that are drawn as nothing, separators of lines,
 * unassigned and private ones, lone surrogates, and spaces other than U+0020.
 */
const INVISIBLE =
  /([\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs})/u;

/** Splits a text into what can be shown as it is, and characters to show by their code points (`U+202E`). */
export function visiblePieces(text: string): Piece[] {
  return text
    .split(INVISIBLE)
    .map((piece, place) => (place % 2 === 0 ? piece : { codePoint: codePointOf(piece) }))
    .filter((piece) => piece !== '');
}

/** The same as one text, for pictures: a right-to-left override is `[U+202E]`. */
export function visibleText(text: string): string {
  return visiblePieces(text)
    .map((piece) => (typeof piece === 'string' ? piece : `[${piece.codePoint}]`))
    .join('');
}

function codePointOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
