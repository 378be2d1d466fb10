import { trimmed } from '../model/header-fields.js';
import { tokensIn } from './json-line.js';
import { type Line, readLines } from './lines.js';

const [OPEN, CLOSE, SPACE] = [Buffer.from('{'), Buffer.from('}'), Buffer.from(' ')];
/** Between two objects, as they are written in one line. */
const BETWEEN = [Buffer.from('}{'), Buffer.from('} {')];

/**
 * Splits bytes into lines as readLines() does, each with one JSON object: an object over several lines, as jq
 * prints it, becomes one, with the number of its first, and each of several objects in one line one of its own.
 * What is neither stays as it is.
 *
 * The lines of an object are told by their beginnings, so that a broken one takes no other with it: `{` alone
 * begins it, and the first line that begins with `}` or `{` ends it.
 *
 * @param longest In bytes, also of an object over several lines.
 */
export async function* readJsonTexts(
  source: AsyncIterable<Buffer>,
  longest: number,
): AsyncGenerator<readonly Line[]> {
  /** The object that has no end yet, and the number of its first line. */
  let pieces: Buffer[] = [];
  let size = 0;
  let number = 0;
  const add = (line: Line) => {
    if (pieces.length === 0) number = line.number;
    if (size <= longest) pieces.push(line.bytes, SPACE);
    size += line.bytes.length + SPACE.length;
  };
  const finish = (): Line[] => {
    if (pieces.length === 0) return [];
    const bytes = Buffer.concat(pieces);
    pieces = [];
    size = 0;
    return [{ number, bytes }];
  };
  const take = (line: Line): Line[] => {
    const { bytes } = line;
    if (pieces.length > 0 && bytes[0] === CLOSE[0]) {
      add({ ...line, bytes: CLOSE });
      const rest = withoutBlanks(bytes.subarray(1));
      return [...finish(), ...(rest.length === 0 ? [] : take({ ...line, bytes: rest }))];
    }
    const before = bytes[0] === OPEN[0] ? finish() : [];
    if (pieces.length > 0 || isAlone(bytes)) {
      add(line);
      return before;
    }
    const objects = bytes.length > longest ? [line] : objectsOf(line);
    return [...before, ...(objects.length > 1 ? objects.flatMap(take) : objects)];
  };
  for await (const lines of readLines(source, longest)) yield lines.flatMap(take);
  yield finish();
}

/** Whether a line is `{`, with blanks behind it. */
function isAlone(bytes: Buffer): boolean {
  return bytes.length < 80 && withoutBlanks(bytes).equals(OPEN);
}

function withoutBlanks(bytes: Buffer): Buffer {
  return Buffer.from(trimmed(bytes.toString('latin1')), 'latin1');
}

/** The objects of a line, if there are several, and then what follows them. */
function objectsOf(line: Line): Line[] {
  const { bytes } = line;
  if (!BETWEEN.some((between) => bytes.includes(between))) return [line];
  // Octets as characters: none of UTF-8 beyond ASCII is taken for another.
  const text = bytes.toString('latin1');
  const objects: Line[] = [];
  let [start, depth] = [0, 0];
  const cut = (end: number) => {
    const piece = withoutBlanks(bytes.subarray(start, end));
    if (piece.length > 0) objects.push({ number: line.number, bytes: piece });
    start = end;
  };
  for (const [character, , end] of tokensIn(text)) {
    if (!'{}'.includes(character)) continue;
    depth += character === '{' ? 1 : -1;
    if (depth === 0) cut(end);
  }
  cut(bytes.length);
  return objects;
}
