import { existsSync, readFileSync } from 'node:fs';
import { attempt } from '../model/attempt.js';
import { messageOf, UsageError } from '../model/errors.js';
import { InvalidValue, parseUrl, splitList } from './parse.js';
import { type Settings, settingsFrom } from './settings.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** Where an empty value is not an unset setting: no scope at all. */
const MAY_BE_EMPTY = 'ANONYMOUS_SCOPES';

/** @throws UsageError that names the setting and says what to write instead. */
export function readSettings(environment: Environment = process.env): Settings {
  const names = new Set<string>();
  const settings = settingsFrom((name, fallback, parse) => {
    names.add(name);
    const value = environment[name]?.trim() ?? fallback;
    try {
      return parse(value === '' && name !== MAY_BE_EMPTY ? fallback : value);
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      const hidden = 'not valid (it is not shown, since it may contain a password)';
      const shown = error.isSecret ? hidden : JSON.stringify(value);
      throw new UsageError(`${name} is ${shown}: ${error.message}.`);
    }
  });
  rejectMisspelt(environment, names);
  return { ...settings, secrets: secretsIn(environment, names) };
}

/** Each once, decoded and as in a URL. */
function secretsIn(environment: Environment, names: Iterable<string>): readonly string[] {
  // PostgreSQL's driver reads PGPASSWORD.
  const secrets = [environment['PGPASSWORD'] ?? ''];
  for (const name of names) {
    const value = environment[name] ?? '';
    for (const part of splitList(value)) secrets.push(parseUrl(part)?.password ?? '');
    // Lists of `name=value`, whose percent-encoded values are secrets.
    const pairs = /^OTEL_.*_HEADERS$/.test(name) ? value.split(',') : [];
    for (const pair of pairs) secrets.push(pair.slice(pair.indexOf('=') + 1).trim());
  }
  const decoded = secrets.flatMap((secret) => [secret, attempt(() => decodeURIComponent(secret)) ?? '']);
  return [...new Set(decoded)].filter(Boolean);
}

/** Of shorter names, too many are another program's: HOST, PORT, ROLE. */
const MIN_LENGTH = 6;

/**
 * Rejects a variable that is no setting, but one in another case or but for one edit in its name. Another
 * program may have a variable of such a name: an edit is rejected only while the setting itself is not set.
 */
function rejectMisspelt(environment: Environment, settings: ReadonlySet<string>): void {
  for (const name of Object.keys(environment).filter((each) => !settings.has(each))) {
    const upper = name.toUpperCase();
    if (settings.has(upper)) throw new UsageError(`${name} is not a setting: write ${upper}.`);
    const meant = [...settings].find(
      (setting) => setting.length >= MIN_LENGTH && !(setting in environment) && isOneEdit(name, setting),
    );
    if (meant === undefined) continue;
    throw new UsageError(
      `${name} is not a setting: write ${meant}. If another program reads ${name}, set ${meant} too, or to nothing.`,
    );
  }
}

/** Whether one letter is missing, too many or another, or two stand in each other's place. */
function isOneEdit(one: string, other: string): boolean {
  let begin = 0;
  while (begin < one.length && one[begin] === other[begin]) begin += 1;
  const [a, b] = [one.slice(begin), other.slice(begin)];
  const swapped = `${b[1]}${b[0]}${b.slice(2)}`;
  return [b, b.slice(1), swapped].includes(a) || [b, b.slice(1)].includes(a.slice(1));
}

/**
 * Adds those of a file `.env` in the working directory, if there is one, to the environment, which has precedence.
 *
 * @throws UsageError where the file cannot be read, or a line of it is not a setting.
 */
export function loadEnvironmentFile(): void {
  if (!existsSync('.env')) return;
  try {
    const values = parseEnvironmentFile(readFileSync('.env', 'utf8'));
    for (const [name, value] of values) process.env[name] ??= value;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `The file .env cannot be read (${messageOf(error)}): make it readable, or remove it.`,
    );
  }
}

/**
 * A line, or several where the value is quoted: a setting, a comment, or nothing. Node.js' own parser reads any
 * other line as the beginning of the next name, and differs between versions.
 */
const ENTRY =
  /[ \t]*(?:(?:export[ \t]+)?(?<name>[A-Za-z_]\w*)[ \t]*=[ \t]*(?:"(?<escaped>[^"]*)"|'(?<single>[^']*)'|`(?<backtick>[^`]*)`|(?<plain>(?:[^\s#"'`](?:[^\n#]*[^\s#])?)?))(?:[ \t]+#.*)?|#.*)?[ \t]*(?:\n|$)/y;

/**
 * Between `"`, `\n` is a line feed. Of a name that is there twice, the last value counts.
 *
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
