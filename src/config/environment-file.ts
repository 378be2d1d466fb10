import { UsageError } from '../model/errors.js';

/**
 * A line of a file `.env`, or several where the value is quoted: a setting, a comment, or nothing. Node.js'
 * own reader takes a line that is none of them for the beginning of the next one's name, and differs from
 * version to version.
 */
const ENTRY =
  /[ \t]*(?:(?:export[ \t]+)?(?<name>[A-Za-z_]\w*)[ \t]*=[ \t]*(?:"(?<escaped>[^"]*)"|'(?<single>[^']*)'|`(?<backtick>[^`]*)`|(?<plain>(?:[^\s#"'`](?:[^\n#]*[^\s#])?)?))(?:[ \t]+#.*)?|#.*)?[ \t]*(?:\n|$)/y;

/** How a setting begins whose value cannot be told. */
const NAMED = /^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=/;

/** How much of a line is shown. */
const LONGEST_SHOWN = 40;

/**
 * Reads the text of a file `.env`: `NAME=value` lines, comments after `#`, and values between `"`, `'` or
 * backticks, of several lines perhaps. Between `"`, `\n` is a line feed.
 *
 * @returns the values by their names; of a name that is there twice, the last.
 * @throws UsageError for a line that is nothing of that. It shows no value.
 */
export function parseEnvironmentFile(content: string): ReadonlyMap<string, string> {
  const text = content.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n');
  const values = new Map<string, string>();
  for (let place = 0; place < text.length; place = ENTRY.lastIndex) {
    ENTRY.lastIndex = place;
    const entry = ENTRY.exec(text);
    if (entry === null) throw unclear(text, place);
    const { name, escaped, single, backtick, plain } = entry.groups ?? {};
    if (name === undefined) continue;
    values.set(name, escaped?.replaceAll('\\n', '\n') ?? single ?? backtick ?? plain ?? '');
  }
  return values;
}

function unclear(text: string, place: number): UsageError {
  const number = text.slice(0, place).split('\n').length;
  const [line = ''] = text.slice(place).split('\n', 1);
  const [, name] = NAMED.exec(line) ?? [];
  if (name !== undefined) {
    return new UsageError(
      `.env, line ${number}: it is not clear what the value of ${name} is: put it between quotes ("…" or '…'), and a blank before a comment.`,
    );
  }
  const [shown = ''] = line.trim().split('=', 1);
  return new UsageError(
    `.env, line ${number}: ${JSON.stringify(shown.slice(0, LONGEST_SHOWN))} is no setting: write NAME=value, or # before a comment.`,
  );
}
