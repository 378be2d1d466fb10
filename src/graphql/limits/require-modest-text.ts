import { Lexer, Source, type Token, TokenKind } from 'graphql';
import { LONGEST_NAME, MOST_ALIASES, MOST_DIRECTIVES, MOST_LEVELS, MOST_TOKENS } from './limits.js';
import { refuse } from './refuse.js';

const OPENING: ReadonlySet<string> = new Set([TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L]);
const CLOSING: ReadonlySet<string> = new Set([TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R]);

/** What was read of a document so far. */
interface Counts {
  tokens: number;
  aliases: number;
  directives: number;
  /** The brackets that are open. */
  readonly open: string[];
}

/**
 * What can be told of a document before it is parsed: that its tokens, its aliases, its directives and the
 * levels of its brackets are not too many, and its names not too long. What is no GraphQL passes: the parser
 * tells what is wrong with it.
 *
 * @throws QueryTooComplexError at the first token beyond a limit.
 */
export function requireModestText(text: string): void {
  const lexer = new Lexer(new Source(text));
  const counts: Counts = { tokens: 0, aliases: 0, directives: 0, open: [] };
  for (let token = advance(lexer); token.kind !== TokenKind.EOF; token = advance(lexer)) {
    count(token.kind, counts);
    requireWithin(counts);
    if (token.kind === TokenKind.NAME && token.end - token.start > LONGEST_NAME) {
      refuse(`The document has a name of more than ${LONGEST_NAME} characters.`);
    }
  }
}

function count(kind: string, counts: Counts): void {
  counts.tokens += 1;
  if (OPENING.has(kind)) counts.open.push(kind);
  else if (CLOSING.has(kind)) counts.open.pop();
  else if (kind === TokenKind.AT) counts.directives += 1;
  // Arguments, variables and objects in them have their colons inside parentheses.
  else if (kind === TokenKind.COLON && !counts.open.includes(TokenKind.PAREN_L)) counts.aliases += 1;
}

function requireWithin({ tokens, aliases, directives, open }: Counts): void {
  if (tokens > MOST_TOKENS) refuse(`The document has more than ${MOST_TOKENS} tokens.`);
  if (aliases > MOST_ALIASES) refuse(`The document has more than ${MOST_ALIASES} aliases.`);
  if (directives > MOST_DIRECTIVES) refuse(`The document has more than ${MOST_DIRECTIVES} directives.`);
  if (open.length > MOST_LEVELS) {
    refuse(`The document has brackets nested more than ${MOST_LEVELS} levels deep.`);
  }
}

function advance(lexer: Lexer): Pick<Token, 'kind' | 'start' | 'end'> {
  try {
    return lexer.advance();
  } catch {
    return { kind: TokenKind.EOF, start: 0, end: 0 };
  }
}
