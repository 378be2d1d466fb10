import { trimmed } from '../model/header-fields.js';
import { type Line, readLines } from './lines.js';

const [OPEN, CLOSE, SPACE] = [Buffer.from('{'), Buffer.from('}'), Buffer.from(' ')];
/** Between two objects, as they are written in one line. */
const BETWEEN = [Buffer.from('}{'), Buffer.from('} {')];

/**
 * Splits bytes into lines as readLines() does, each with one JSON object: one over several lines, as jq
 * prints it, has the number of its first, several in one line that of the line. What is neither stays as it is.
 *
 * The lines of an object are told by their beginnings, so that a broken one takes no other with it: `{` alone
 * begins it, and the first line that begins with `}` or `{` ends it.
 */
export async function* readJsonTexts(source: AsyncIterable<Buffer>, longest: number) {
  let pieces: Buffer[] = [];
  let [size, number] = [0, 0];
  const add = (bytes: Buffer) => {
    if (size <= longest) pieces.push(bytes, SPACE);
    size += bytes.length + SPACE.length;
  };
  const finish = (): Line[] => {
    if (pieces.length === 0) return [];
    const bytes = Buffer.concat(pieces);
    [pieces, size] = [[], 0];
    return [{ number, bytes }];
  };
  const close = (line: Line): Line[] => {
    add(CLOSE);
    const rest = withoutBlanks(line.bytes.subarray(1));
    return [...finish(), ...(rest.length === 0 ? [] : take({ ...line, bytes: rest }))];
  };
  const take = (line: Line): Line[] => {
    const { bytes } = line;
    if (pieces.length > 0 && bytes[0] === CLOSE[0]) return close(line);
    const before = bytes[0] === OPEN[0] ? finish() : [];
    if (pieces.length === 0 && !isAlone(bytes)) {
      const objects = objectsOf(line, longest);
      return [...before, ...(objects.length > 1 ? objects.flatMap(take) : objects)];
    }
    if (pieces.length === 0) number = line.number;
    add(bytes);
    return before;
  };
  for await (const lines of readLines(source, longest)) yield lines.flatMap(take);
  yield finish();
}

function isAlone(bytes: Buffer): boolean {
  return bytes.length < 80 && withoutBlanks(bytes).equals(OPEN);
}

function withoutBlanks(bytes: Buffer): Buffer {
  return Buffer.from(trimmed(bytes.toString('latin1')), 'latin1');
}

function objectsOf(line: Line, longest: number): Line[] {
  const { bytes } = line;
  if (bytes.length > longest || !BETWEEN.some((between) => bytes.includes(between))) return [line];
  // Octets as characters: none of UTF-8 beyond ASCII is taken for another.
  const text = bytes.toString('latin1');
  const ends: number[] = [];
  let [depth, isInString] = [0, false];
  for (const { 0: found, index } of text.matchAll(/\\.|["{}]/gs)) {
    if (found === '"') isInString = !isInString;
    if (isInString || !/[{}]/.test(found)) continue;
    depth += found === '{' ? 1 : -1;
    if (depth === 0) ends.push(index + 1);
  }
  const objects = [...ends, bytes.length].map((end, at) => bytes.subarray(ends[at - 1] ?? 0, end));
  const lines = objects.map((object) => ({ ...line, bytes: withoutBlanks(object) }));
  return lines.filter((each) => each.bytes.length > 0);
}
