import { invalidParameter, readArgument } from './errors.js';
import { canonicalHostName } from './host-name.js';
import { quoted, requireStorable } from './text.js';

/** Besides `*`. */
const MIN_CHARACTERS = 3;

export interface NamePattern {
  /** The texts between the `*`, in canonical form: of a name without `*` one. */
  readonly parts: readonly string[];
}

/** Stands for an escaped `*`, which canonical names have as it is: none has U+0000. */
const ASTERISK = '\0';

/**
 * A name, or a pattern of names, in which `*` stands for any characters, and `\*` or `\042` for itself, as in a
 * master file (RFC 1035, section 5.1): the label of a wildcard (RFC 4592). Labels without `*` become canonical.
 *
 * @throws PublicError INVALID_PARAMETER for a text that is neither, and a pattern of fewer than three others.
 */
export function parseNamePattern(argument: string, text: string): NamePattern {
  if (text === '') throw invalidParameter(`${argument} must not be empty.`);
  const escaped = text.replace(/\\(.)/gs, (pair, character) => (character === '*' ? '\\042' : pair));
  const canonical = (name: string) => readArgument(argument, () => canonicalHostName(name));
  if (!escaped.includes('*')) return { parts: [canonical(escaped)] };
  const labels = escaped.replace(/\.$/, '').split('.');
  const pattern = labels.map((label) => {
    if (!label.includes('*')) return label === '' ? '' : canonical(label).replaceAll('*', ASTERISK);
    if (/^[\w*-]+$/.test(label)) return label.toLowerCase();
    const rule = 'a label with "*" may have letters, digits, "-" and "_" besides';
    throw invalidParameter(`${argument}: ${quoted(text)} is not a pattern of names: ${rule}.`);
  });
  const parts = pattern.join('.').split(/\*+/);
  if (parts.join('').length < MIN_CHARACTERS)
    throw invalidParameter(
      `${argument}: a pattern must have at least ${MIN_CHARACTERS} characters besides "*".`,
    );
  return { parts: parts.map((part) => part.replaceAll(ASTERISK, '*')) };
}

/** `*.example.net` as `.example.net`, for all names below it; the name itself where there is no `*`. */
export function parseNameOrSubdomains(argument: string, text: string): NamePattern {
  const pattern = parseNamePattern(argument, text);
  const [first, second, ...others] = pattern.parts;
  if (second === undefined || (first === '' && second.startsWith('.') && others.length === 0)) return pattern;
  throw invalidParameter(`${argument}: write a host name, or "*." and a name for all below it.`);
}

/** @throws PublicError INVALID_PARAMETER */
export function requirePart(argument: string, text: string): string {
  if ([...text].length >= MIN_CHARACTERS) return requireText(argument, text);
  throw invalidParameter(`${argument} must have at least ${MIN_CHARACTERS} characters.`);
}

/** No recorded text has what PostgreSQL cannot store. @throws PublicError INVALID_PARAMETER */
export function requireText(argument: string, text: string): string {
  return readArgument(argument, () => requireStorable(text));
}
