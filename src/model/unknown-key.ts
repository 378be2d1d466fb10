import { InvalidObservationError } from './errors.js';
import { quoted } from './quoted.js';

/**
 * What to throw for a key that an object may not have. Where a known key differs only in case, hyphens
 * or underscores, the message names it; otherwise it names them all.
 *
 * @param owner what has the known keys, as `in a record of type A`; empty for the line itself.
 */
export function unknownKey(key: string, known: Iterable<string>, owner = ''): InvalidObservationError {
  const meant = [...known].find((name) => plain(name) === plain(key));
  const place = owner === '' ? '' : ` ${owner}`;
  const advice =
    meant === undefined ? `remove it, or write one of ${[...known].join(', ')}` : `write ${meant}`;
  return new InvalidObservationError(`unknown key ${quoted(key)}${place}: ${advice}.`);
}

function plain(key: string): string {
  return key.toLowerCase().replace(/[-_]/g, '');
}
