import { invalidValue } from './errors.js';
import { octetEscape, quoted } from './text.js';

/**
 * A string in double quotes; other text up to a blank, at whose end `=` may begin such a string (RFC 9460,
 * appendix A); a parenthesis; a comment or blanks; anything else.
 */
const TOKEN =
  /("(?:[^"\\]|\\.)*"|(?:[^"();\\ \t\r\n\f\v]|\\.)(?:[^();\\ \t\r\n\f\v"]|(?<!=)"|\\.)*(?:(?<==)"(?:[^"\\]|\\.)*")?)|([()])|(;[^\n]*|[ \t\r\n\f\v]+)|.+/gs;

/** Reads the fields of rdata in the syntax of master files (RFC 1035, section 5.1). */
export class MasterText {
  /** Whether it begins with `\#`: the octets follow in hexadecimal (RFC 3597, section 5). */
  readonly isGeneric: boolean;
  /** Their escapes and quotes are still in them. */
  readonly #fields: readonly string[];
  readonly #absolute: (name: string) => string;
  #next = 0;

  /**
   * @param absolute Makes names absolute that may be relative to the origin of a file; absent: they are.
   * @throws InvalidObservationError for quotes and parentheses that do not match, and a backslash at the end.
   */
  constructor(text: string, absolute: (name: string) => string = (name) => name) {
    this.#absolute = absolute;
    const fields: string[] = [];
    let depth = 0;
    for (const [found, field, parenthesis, space] of text.matchAll(TOKEN)) {
      if (field !== undefined) fields.push(field);
      else if (parenthesis !== undefined) depth += parenthesis === '(' ? 1 : -1;
      else if (space === undefined) {
        throw invalidValue(`at ${quoted(found)} a quote or an escape has no end.`);
      }
      if (depth < 0) throw invalidValue('a parenthesis is closed that is not open.');
    }
    if (depth !== 0) throw invalidValue('a parenthesis is not closed.');
    this.isGeneric = fields[0] === '\\#';
    this.#fields = fields;
  }

  /** In one line, with single blanks. */
  get text(): string {
    return this.#fields.join(' ');
  }

  get isAtEnd(): boolean {
    return this.#next === this.#fields.length;
  }

  /** Without its quotes. @throws InvalidObservationError at the end. */
  next(): string {
    const field = this.#fields[this.#next];
    if (field === undefined) throw invalidValue('it ends too early.');
    this.#next += 1;
    return unquoted(field);
  }

  nextName(): string {
    return this.#absolute(this.next());
  }

  rest(): string[] {
    const rest = this.#fields.slice(this.#next);
    this.#next = this.#fields.length;
    return rest.map(unquoted);
  }
}

function unquoted(field: string): string {
  return field.startsWith('"') ? field.slice(1, -1) : field;
}

const ESCAPE = /\\(?:(25[0-5]|2[0-4]\d|[01]\d\d)|(\D))|\\/gu;

/**
 * `\DDD` is one octet, a backslash before anything but a digit goes, all else is its UTF-8. @throws
 * InvalidObservationError for any other backslash.
 */
export function fieldOctets(text: string): Buffer {
  if (!text.includes('\\')) return Buffer.from(text);
  const octets = Buffer.from(text).toString('latin1');
  const unescaped = octets.replace(ESCAPE, (_, decimal?: string, character?: string) => {
    if (decimal !== undefined) return String.fromCharCode(Number(decimal));
    if (character !== undefined) return character;
    throw invalidValue(`${quoted(text)}: after "\\" comes a character or \\000 to \\255.`);
  });
  return Buffer.from(unescaped, 'latin1');
}

export function quotedOctets(octets: Buffer): string {
  return `"${escapedOctets(octets)}"`;
}

/** As they are inside of double quotes. */
export function escapedOctets(octets: Buffer): string {
  return octets
    .toString('latin1')
    .replace(/[^ -~]|["\\]/g, (octet) =>
      octet === '"' || octet === '\\' ? `\\${octet}` : octetEscape(octet.charCodeAt(0)),
    );
}
