import { Lexer, Source, type Token, TokenKind } from 'graphql';

/** 100 aliases of `domain`, each with every field of every type, are 21,000 tokens. */
export const MOST_TOKENS = 30_000;

/** Of fields, aliases, operations and others, in characters: a response repeats an alias for each object. */
const LONGEST_NAME = 200;

/** Brackets in brackets, and fragments in fragments: parsing and validation call themselves at every level. */
export const MOST_LEVELS = 100;

/** Fields in fields. The usual introspection query has 13, the schema itself 4. */
export const MOST_DEPTH = 20;

/** 100 domains with four aliases in each. */
export const MOST_ALIASES = 500;

/** Fields of the query itself, such as `domain`. */
export const MOST_ROOT_FIELDS = 200;

export const MOST_DIRECTIVES = 500;

/** 100 domains with every field have 14,000; fragments that spread fragments could make millions of few. */
export const MOST_SELECTIONS = 30_000;

/** Validation compares all fields of one name in one place with each other: 100 domains have 48,000 such pairs. */
export const MOST_COMPARISONS = 50_000;

/** Of the schema, in a result: nine times what tools request. Each 25,000 take 50 ms. */
export const MOST_VALUES_OF_SCHEMA = 25_000;
export const MOST_OCTETS_OF_SCHEMA = 1_000_000;

/** In the variables of a request: lists and objects, and all that is in them. 100 lists of 100 types have 10,100. */
export const MOST_VARIABLE_VALUES = 11_000;

/** A document or request beyond a limit. The message says which. */
export class QueryTooComplexError extends Error {
  override readonly name = 'QueryTooComplexError';
  /** The estimated cost, where that is what exceeds its limit. */
  readonly cost: number | undefined;

  constructor(message: string, cost?: number) {
    super(message);
    this.cost = cost;
  }
}

/** @throws QueryTooComplexError */
export function tooComplex(reason: string, cost?: number): never {
  throw new QueryTooComplexError(`${reason} Ask for less in one request.`, cost);
}

const OPENING: ReadonlySet<string> = new Set([TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L]);
const CLOSING: ReadonlySet<string> = new Set([TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R]);

/** Counts of what was read so far. */
interface Counts {
  tokens: number;
  aliases: number;
  directives: number;
  /** The brackets that are open. */
  readonly open: string[];
}

/**
 * Checks what can be checked before a document is parsed: its tokens, aliases, directives, levels of brackets and
 * the lengths of its names. Text that is not GraphQL passes: the parser reports it. The parser's own `maxTokens` counts
 * tokens alone, and it calls itself at every level of brackets: these have to be limited before it begins.
 *
 * @throws QueryTooComplexError at the first token beyond a limit.
 */
export function checkText(text: string): void {
  const lexer = new Lexer(new Source(text));
  const counts: Counts = { tokens: 0, aliases: 0, directives: 0, open: [] };
  for (let token = advance(lexer); token.kind !== TokenKind.EOF; token = advance(lexer)) {
    count(token.kind, counts);
    checkCounts(counts);
    if (token.kind === TokenKind.NAME && token.end - token.start > LONGEST_NAME) {
      tooComplex(`The document has a name of more than ${LONGEST_NAME} characters.`);
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

function checkCounts({ tokens, aliases, directives, open }: Counts): void {
  if (tokens > MOST_TOKENS) tooComplex(`The document has more than ${MOST_TOKENS} tokens.`);
  if (aliases > MOST_ALIASES) tooComplex(`The document has more than ${MOST_ALIASES} aliases.`);
  if (directives > MOST_DIRECTIVES) tooComplex(`The document has more than ${MOST_DIRECTIVES} directives.`);
  if (open.length > MOST_LEVELS) {
    tooComplex(`The document has brackets nested more than ${MOST_LEVELS} levels deep.`);
  }
}

function advance(lexer: Lexer): Pick<Token, 'kind' | 'start' | 'end'> {
  try {
    return lexer.advance();
  } catch {
    return { kind: TokenKind.EOF, start: 0, end: 0 };
  }
}
