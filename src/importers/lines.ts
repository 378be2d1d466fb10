import { isAscii, isUtf8 } from 'node:buffer';
import { InvalidObservationError } from '../model/errors.js';

/** A line of a file, as bytes, so that a rejected one can be given back as it came. */
export interface Line {
  /** Counted from 1. */
  readonly number: number;
  /** Without the line's end. Of a line that is too long, only its beginning. */
  readonly bytes: Buffer;
  /** The limit, in bytes, that the line exceeds; null: it is whole. */
  readonly exceeded: number | null;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Splits bytes into lines, an array for each chunk that comes in. Blank lines are counted and left
 * out; a line ends with LF or CRLF; a byte order mark at the beginning is dropped.
 *
 * @param longest in bytes, so that a file without line ends cannot fill the memory; of a longer line only
 *   the beginning is kept, and it is marked.
 */
export async function* readLines(
  source: AsyncIterable<Buffer>,
  longest = Number.POSITIVE_INFINITY,
): AsyncGenerator<readonly Line[]> {
  const splitter = new LineSplitter(longest);
  for await (const chunk of source) {
    yield splitter.split(chunk);
  }
  yield splitter.end();
}

/**
 * The text of a line.
 *
 * @throws InvalidObservationError when the line is too long or is not UTF-8.
 */
export function textOf({ bytes, exceeded }: Line): string {
  if (exceeded !== null) {
    throw new InvalidObservationError(
      `the line is longer than LIMIT_LINE allows (${exceeded} bytes): set it higher to import the line.`,
    );
  }
  if (isAscii(bytes)) {
    return bytes.toString('latin1');
  }
  if (!isUtf8(bytes)) {
    throw new InvalidObservationError(
      'the line is not UTF-8: a file must be text, or text packed with gzip.',
    );
  }
  return bytes.toString('utf8');
}

class LineSplitter {
  private readonly held: Buffer[] = [];
  private heldBytes = 0;
  private tooLong = false;
  private number = 0;
  private readonly longest: number;

  constructor(longest: number) {
    this.longest = longest;
  }

  split(chunk: Buffer): Line[] {
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      this.hold(chunk.subarray(start, end));
      this.finish(lines);
      start = end + 1;
    }
    this.hold(chunk.subarray(start));
    return lines;
  }

  end(): Line[] {
    const lines: Line[] = [];
    this.finish(lines);
    return lines;
  }

  private hold(bytes: Buffer): void {
    if (bytes.length === 0 || this.tooLong) {
      return;
    }
    this.held.push(bytes);
    this.heldBytes += bytes.length;
    this.tooLong = this.heldBytes > this.longest;
    if (this.tooLong) {
      this.held.length = 1;
    }
  }

  private finish(lines: Line[]): void {
    this.number += 1;
    const [only] = this.held;
    const joined = this.held.length === 1 && only !== undefined ? only : Buffer.concat(this.held);
    const bytes = withoutEnds(joined, this.number === 1);
    if (bytes.length > 0) {
      lines.push({ number: this.number, bytes, exceeded: this.tooLong ? this.longest : null });
    }
    this.held.length = 0;
    this.heldBytes = 0;
    this.tooLong = false;
  }
}

function withoutEnds(bytes: Buffer, first: boolean): Buffer {
  const marked = first && bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  const start = marked ? BYTE_ORDER_MARK.length : 0;
  const end = bytes.at(-1) === CARRIAGE_RETURN ? bytes.length - 1 : bytes.length;
  return bytes.subarray(start, end);
}
