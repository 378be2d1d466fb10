import { characterStringOctets, characterStringText } from './character-string.js';
import { InvalidObservationError } from './errors.js';
import { readAt } from './refusal.js';
import { requireText, requireTexts } from './required.js';

/** RFC 1035, section 3.2.1: the length of rdata has 16 bits. */
export const LARGEST_RDATA = 65_535;

/**
 * Both own fields of a TXT record in canonical form, where one is enough: a `txt` alone is one entry,
 * and `entries` alone are joined.
 *
 * @throws InvalidObservationError for fields that are missing, not texts, or an empty list; a `txt` that
 * is not the entries joined; lone surrogates; more than 65,535 octets.
 */
export function completeTxt(data: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const alone = data['entries'] === undefined;
  const texts = alone
    ? [readAt('txt', () => requireText(data['txt']))]
    : readAt('entries', () => requireTexts(data['entries']));
  const entries = readAt(alone ? 'txt' : 'entries', () => texts.map(characterStringOctets));
  const joined = Buffer.concat(entries);
  if (!alone && data['txt'] !== undefined) {
    readAt('txt', () => refuseUnequal(requireText(data['txt']), texts, joined));
  }
  // Each character-string has a length octet before it.
  if (joined.length + entries.length > LARGEST_RDATA) {
    throw new InvalidObservationError(`its data is longer than ${LARGEST_RDATA} octets.`);
  }
  return { txt: characterStringText(joined), entries: entries.map(characterStringText) };
}

function refuseUnequal(txt: string, entries: readonly string[], joined: Buffer): void {
  if (txt === entries.join('') || characterStringOctets(txt).equals(joined)) return;
  throw new InvalidObservationError('it is not the entries joined.');
}
