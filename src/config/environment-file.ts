import { UsageError } from '../model/errors.js';

/**
 * A line of a file `.env`, or several where the value is quoted: a setting, a comment, or nothing. Node.js' own
 * parser reads any other line as the beginning of the next name, and differs between versions.
 */
const ENTRY =
  /[ \t]*(?:(?:export[ \t]+)?(?<name>[A-Za-z_]\w*)[ \t]*=[ \t]*(?:"(?<escaped>[^"]*)"|'(?<single>[^']*)'|`(?<backtick>[^`]*)`|(?<plain>(?:[^\s#"'`](?:[^\n#]*[^\s#])?)?))(?:[ \t]+#.*)?|#.*)?[ \t]*(?:\n|$)/y;

/**
 * Reads the text of a file `.env`: `NAME=value` lines, comments after `#`, and values between `"`, `'` or
 * backticks, of several lines perhaps. Between `"`, `\n` is a line feed.
 *
 * @returns the values by their names; of a name that is there twice, the last.
 * @throws UsageError for any other line. The message does not show it: it may be a part of a key or a password.
 */
export function parseEnvironmentFile(content: string): ReadonlyMap<string, string> {
  const text = content.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n');
  const values = new Map<string, string>();
  for (let place = 0; place < text.length; place = ENTRY.lastIndex) {
    ENTRY.lastIndex = place;
    const entry = ENTRY.exec(text);
    if (entry === null) {
      const line = text.slice(0, place).split('\n').length;
      throw new UsageError(
        `.env, line ${line}: this is not a setting: write NAME=value, with quotes ("…" or '…') around a value with # ` +
          'or quotes in it, or # before a comment.',
      );
    }
    const { name, escaped, single, backtick, plain } = entry.groups ?? {};
    if (name === undefined) continue;
    values.set(name, escaped?.replaceAll('\\n', '\n') ?? single ?? backtick ?? plain ?? '');
  }
  return values;
}
