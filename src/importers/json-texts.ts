import { trimmed } from '../model/header-fields.js';
import { endOfString } from '../model/json-values.js';
import { type Line, readLines } from './lines.js';

const [OPEN, CLOSE] = [Buffer.from('{'), Buffer.from('}')];
const SPACE = Buffer.from(' ');
/** Between two objects, as they are written in one line. */
const BETWEEN = [Buffer.from('}{'), Buffer.from('} {')];

/**
 * Splits bytes into lines as readLines() does, each with one JSON object: an object over several lines, as jq prints it,
 * becomes one, with the number of its first, and each of several objects in one line one of its own. What is neither stays as it is.
 *
 * The lines of an object are told by their beginnings, so that a broken one takes no other with it: `{` alone begins it, and
 * the first line that begins with `}` or `{` ends it.
 *
 * @param longest In bytes, also of an object over several lines: of a longer one only the beginning is kept, and it is marked.
 */
export async function* readJsonTexts(
  source: AsyncIterable<Buffer>,
  longest = Number.POSITIVE_INFINITY,
): AsyncGenerator<readonly Line[]> {
  /** The lines of the object that has no end yet. */
  let open: Line[] = [];
  let size = 0;
  const add = (line: Line) => {
    if (size <= longest) open.push(line);
    size += line.bytes.length + 1;
  };
  const finish = (): Line[] => {
    const [first] = open;
    if (first === undefined) return [];
    const bytes = Buffer.concat(open.flatMap((line) => [line.bytes, SPACE]));
    const exceeded = size > longest ? longest : null;
    open = [];
    size = 0;
    return [{ ...first, bytes, exceeded }];
  };
  const take = (line: Line): Line[] => {
    const { bytes } = line;
    if (open.length > 0 && bytes[0] === CLOSE[0]) {
      add({ ...line, bytes: CLOSE });
      const rest = withoutBlanks(bytes.subarray(1));
      return [...finish(), ...(rest.length === 0 ? [] : take({ ...line, bytes: rest }))];
    }
    const before = bytes[0] === OPEN[0] ? finish() : [];
    if (open.length > 0 || isAlone(bytes)) add(line);
    else {
      const objects = objectsOf(line);
      return [...before, ...(objects.length > 1 ? objects.flatMap(take) : objects)];
    }
    return before;
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
  const { bytes, exceeded } = line;
  if (exceeded !== null || !BETWEEN.some((between) => bytes.includes(between))) return [line];
  // Octets as characters: none of UTF-8 beyond ASCII is taken for another.
  const text = bytes.toString('latin1');
  const structure = /["{}]/g;
  const pieces: Buffer[] = [];
  let [start, depth] = [0, 0];
  for (let found = structure.exec(text); found !== null; found = structure.exec(text)) {
    if (found[0] === '"') structure.lastIndex = endOfString(text, found.index);
    else depth += found[0] === '{' ? 1 : -1;
    if (depth !== 0 || found[0] === '"') continue;
    pieces.push(withoutBlanks(bytes.subarray(start, structure.lastIndex)));
    start = structure.lastIndex;
  }
  const rest = withoutBlanks(bytes.subarray(start));
  const all = rest.length === 0 ? pieces : [...pieces, rest];
  return all.map((piece) => ({ ...line, bytes: piece }));
}
