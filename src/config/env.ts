import { existsSync, readFileSync } from 'node:fs';
import { messageOf, UsageError } from '../model/errors.js';
import { parseEnvironmentFile } from './environment-file.js';
import { rejectMisspelt } from './misspelt-settings.js';
import { secretsIn } from './secrets.js';
import { type Settings, settingsFrom } from './settings.js';

/** What settings are read from: process.env, or an object of the same shape. */
type Environment = Readonly<Record<string, string | undefined>>;

/** Where an empty value is a value, and not an unset setting: no scope at all. */
const MAY_BE_EMPTY = 'ANONYMOUS_SCOPES';

/** Reads and checks the settings. @throws UsageError, which names the setting, its value, and what to write instead. */
export function readSettings(environment: Environment = process.env): Settings {
  const names = new Set<string>();
  const settings = settingsFrom((name, fallback, parse) => {
    names.add(name);
    const value = environment[name]?.trim();
    return parse(name, value === '' && name !== MAY_BE_EMPTY ? fallback : (value ?? fallback));
  });
  rejectMisspelt(environment, names);
  return { ...settings, secrets: secretsIn(environment) };
}

/**
 * Adds the settings of a file `.env` in the working directory, if there is one, to the environment, which has
 * precedence.
 *
 * @throws UsageError where the file cannot be read, or a line of it is not a setting.
 */
export function loadEnvironmentFile(): void {
  if (!existsSync('.env')) return;
  for (const [name, value] of parseEnvironmentFile(readText('.env'))) process.env[name] ??= value;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const reason = messageOf(error);
    throw new UsageError(`The file ${file} cannot be read (${reason}): make it readable, or remove it.`);
  }
}
