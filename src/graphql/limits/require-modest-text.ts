import { Lexer, Source, TokenKind } from 'graphql';
import { MOST_DIRECTIVES, MOST_LEVELS, MOST_TOKENS } from './limits.js';
import { refuse } from './refuse.js';

const OPENING: ReadonlySet<string> = new Set([TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L]);
const CLOSING: ReadonlySet<string> = new Set([TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R]);

/**
 * What can be told of a document before it is parsed: that its tokens, its directives and the levels of its
 * brackets are not too many. What is no GraphQL passes: the parser tells what is wrong with it.
 *
 * @throws QueryTooComplexError at the first token beyond a limit.
 */
export function requireModestText(text: string): void {
  const lexer = new Lexer(new Source(text));
  let directives = 0;
  let level = 0;
  for (let tokens = 1; advance(lexer) !== TokenKind.EOF; tokens += 1) {
    const { kind } = lexer.token;
    if (OPENING.has(kind)) level += 1;
    else if (CLOSING.has(kind)) level -= 1;
    else if (kind === TokenKind.AT) directives += 1;
    if (tokens > MOST_TOKENS) refuse(`The document has more than ${MOST_TOKENS} tokens.`);
    if (level > MOST_LEVELS) refuse(`The document has brackets nested more than ${MOST_LEVELS} levels deep.`);
    if (directives > MOST_DIRECTIVES) refuse(`The document has more than ${MOST_DIRECTIVES} directives.`);
  }
}

function advance(lexer: Lexer): string {
  try {
    return lexer.advance().kind;
  } catch {
    return TokenKind.EOF;
  }
}
