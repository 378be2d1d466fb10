import { isAscii, isUtf8 } from 'node:buffer';
import { invalidValue } from '../model/errors.js';
import type { Observation } from '../model/observation.js';

/** As bytes, so that a rejected one can be written unchanged. */
export interface Line {
  /** Counted from 0, where lines of several inputs come together. */
  readonly input?: number | undefined;
  /** Counted from 1. */
  readonly number: number;
  /** Without the line's end. Of a line that is too long, as much as shows that it is. */
  readonly bytes: Buffer;
}

export interface ParsedLine {
  /** Of one domain, the oldest first; none where the line tells only of others. */
  readonly observations: readonly Observation[];
  readonly remarks?: readonly Remark[];
  readonly rejected?: string;
}

export interface Remark {
  /** One of few sentences: the summary says how many lines each is about. */
  readonly text: string;
  /** The summary shows the first one. */
  readonly example?: string;
  /** How many it is about; -1: it no longer holds for one before. Absent: 1. */
  readonly lines?: number;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Splits bytes into lines, an array for each chunk that comes in. Blank lines are counted and left out; a line
 * ends with LF or CRLF; a byte order mark at the beginning is dropped.
 *
 * @param longest In bytes: of a longer line one more is kept, so that none fills the memory.
 */
export async function* readLines(source: AsyncIterable<Buffer>, longest = Number.POSITIVE_INFINITY) {
  let number = 0;
  /** Of the line that has no end yet. */
  let pieces: Buffer[] = [];
  let length = 0;
  const add = (piece: Buffer) => {
    if (length <= longest) pieces.push(piece);
    length += piece.length;
  };
  const finish = (): Line[] => {
    number += 1;
    const [first] = pieces;
    const whole = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces);
    const bytes = length > longest ? whole.subarray(0, longest + 1) : withoutEnds(whole, number === 1);
    pieces = [];
    length = 0;
    return bytes.length === 0 ? [] : [{ number, bytes }];
  };
  for await (const chunk of source) {
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      add(chunk.subarray(start, end));
      for (const line of finish()) lines.push(line);
      start = end + 1;
    }
    add(chunk.subarray(start));
    yield lines;
  }
  yield finish();
}

function withoutEnds(bytes: Buffer, isFirst: boolean): Buffer {
  const isMarked = isFirst && bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  const end = bytes.at(-1) === CARRIAGE_RETURN ? bytes.length - 1 : bytes.length;
  return bytes.subarray(isMarked ? BYTE_ORDER_MARK.length : 0, end);
}

/** @throws InvalidObservationError when the line is too long or is not UTF-8. */
export function textOf({ bytes }: Line, longest = Number.POSITIVE_INFINITY): string {
  if (bytes.length > longest)
    throw invalidValue(
      `the line is longer than LIMIT_LINE allows (${longest} bytes): set it higher to import the line.`,
    );
  if (isAscii(bytes)) return bytes.toString('latin1');
  if (isUtf8(bytes)) return bytes.toString('utf8');
  throw invalidValue('the line is not UTF-8: a file must be text, or text packed with gzip or xz.');
}
