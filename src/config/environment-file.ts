import { UsageError } from '../model/errors.js';

/**
 * A line of a file `.env`, or several where the value is quoted: a setting, a comment, or nothing. Node.js' own
 * parser reads any other line as the beginning of the next name, and differs between versions.
 */
const ENTRY =
  /[ \t]*(?:(?:export[ \t]+)?(?<name>[A-Za-z_]\w*)[ \t]*=[ \t]*(?:"(?<escaped>[^"]*)"|'(?<single>[^']*)'|`(?<backtick>[^`]*)`|(?<plain>(?:[^\s#"'`](?:[^\n#]*[^\s#])?)?))(?:[ \t]+#.*)?|#.*)?[ \t]*(?:\n|$)/y;

/** The beginning of a setting with an unclear value, or with a colon. */
const NAMED = /^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w{0,63})[ \t]*([=:])/;
const USUAL_NAME = /^[A-Z][A-Z0-9_]*$/;

/**
 * Reads the text of a file `.env`: `NAME=value` lines, comments after `#`, and values between `"`, `'` or
 * backticks, of several lines perhaps. Between `"`, `\n` is a line feed.
 *
 * @returns the values by their names; of a name that is there twice, the last.
 * @throws UsageError for any other line. The message shows no value.
 */
export function parseEnvironmentFile(content: string): ReadonlyMap<string, string> {
  const text = content.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n');
  const values = new Map<string, string>();
  for (let place = 0; place < text.length; place = ENTRY.lastIndex) {
    ENTRY.lastIndex = place;
    const entry = ENTRY.exec(text);
    if (entry === null) throw invalidLine(text, place);
    const { name, escaped, single, backtick, plain } = entry.groups ?? {};
    if (name === undefined) continue;
    values.set(name, escaped?.replaceAll('\\n', '\n') ?? single ?? backtick ?? plain ?? '');
  }
  return values;
}

function invalidLine(text: string, place: number): UsageError {
  const number = text.slice(0, place).split('\n').length;
  const [, name, sign] = NAMED.exec(text.slice(place)) ?? [];
  // A misplaced line of a key or a password may look like a name, too.
  const shown = name !== undefined && USUAL_NAME.test(name) ? name : undefined;
  if (sign === '=') {
    const value = shown === undefined ? 'the value' : `the value of ${shown}`;
    return new UsageError(
      `.env, line ${number}: ${value} is ambiguous: put it between quotes ("…" or '…'), and a blank before a comment.`,
    );
  }
  const line = shown === undefined ? 'this' : `what begins with ${shown}`;
  return new UsageError(
    `.env, line ${number}: ${line} is not a setting: write NAME=value, or # before a comment.`,
  );
}
