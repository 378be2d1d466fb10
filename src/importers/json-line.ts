import { InvalidObservationError } from '../model/errors.js';
import { isJsonObject } from '../model/json-values.js';
import { refuseRepeatedKeys } from './repeated-key.js';

/** What those who have a pretty-printed, a binary or a cut file need to hear. */
const ONE_OBJECT = 'each line must be one whole JSON object.';

/**
 * The JSON object that a line holds.
 *
 * @throws InvalidObservationError for a line that is not JSON, is JSON of another kind, or has a key twice in
 *   one object.
 */
export function parseJsonLine(line: string): Readonly<Record<string, unknown>> {
  const object = parseJson(line);
  if (!isJsonObject(object)) {
    throw new InvalidObservationError(`the line is JSON, but not an object: ${ONE_OBJECT}`);
  }
  refuseRepeatedKeys(line, object);
  return object;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // What JSON.parse says may quote the text, which may be long.
    const position = error instanceof Error ? /at position (\d+)/.exec(error.message)?.[1] : undefined;
    const place = position === undefined ? '' : ` at character ${Number(position) + 1}`;
    throw new InvalidObservationError(`the line is not valid JSON${place}: ${ONE_OBJECT}`);
  }
}
