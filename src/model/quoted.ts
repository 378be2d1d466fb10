const LONGEST_SHOWN = 64;
const INVISIBLE = /\p{C}|(?! )\p{Z}/gu;

/**
 * A text as it may stand in an error's message: in double quotes, on one line, with control and other
 * invisible characters written as escapes, and cut with `…` after 64 characters.
 */
export function quoted(text: string): string {
  const shown = text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
  return JSON.stringify(shown).replace(INVISIBLE, escaped);
}

function escaped(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}
