import { Lexer, Source, TokenKind } from 'graphql';

/** A request with 100 aliases of `domain`, each with every field of every type, has 21,000 tokens. */
export const MOST_TOKENS = 30_000;
/** The same request has 14,000 selections; fragments that spread fragments could make millions of few. */
export const MOST_SELECTIONS = 30_000;
/** The usual introspection query has 15 levels; parsing and validation call themselves at every level. */
export const MOST_LEVELS = 100;

const OPENING: readonly string[] = [TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L];
const CLOSING: readonly string[] = [TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R];

/** Whether a document opens more brackets inside brackets than MOST_LEVELS. */
export function isNestedTooDeeply(source: string): boolean {
  const lexer = new Lexer(new Source(source));
  try {
    for (let level = 0; lexer.advance().kind !== TokenKind.EOF; ) {
      if (OPENING.includes(lexer.token.kind)) level += 1;
      if (CLOSING.includes(lexer.token.kind)) level -= 1;
      if (level > MOST_LEVELS) return true;
    }
  } catch {
    // What is no GraphQL is told by the parser.
  }
  return false;
}
