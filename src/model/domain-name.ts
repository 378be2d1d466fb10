import { domainToUnicode } from 'node:url';
import { attempt } from './attempt.js';
import { InvalidDomainError } from './errors.js';
import { ancestorsOf, toALabel } from './host-name.js';
import { isIpv4, isIpv6 } from './ip-address.js';
import { memoized } from './memoized.js';
import { quoted } from './text.js';

const MAX_NAME = 253;
/** No name comes from a longer text, even if each of its characters is composed of several. */
const MAX_TEXT = 4 * MAX_NAME;
const TOO_LONG = `it is longer than ${MAX_NAME} characters`;
/** The full stop and the three that UTS 46 takes for it. */
const SEPARATOR = /[.\u3002\uff0e\uff61]/;

/**
 * The canonical name of a domain: lower-case A-labels without a final dot. Labels outside ASCII are converted
 * by UTS 46, non-transitional; one that begins with `xn--` is not changed, decodable or not. A `-` may stand
 * first or last, since such names resolve (RFC 2181, section 11).
 *
 * @throws InvalidDomainError for IP addresses; a name over 253 characters; labels that are empty, over 63
 * characters, or of others than letters, digits, `-` and `_`; a last label of digits, or with `-` at an end.
 */
export const parseDomainName: (text: string) => string = memoized((text) => {
  if (text.length > MAX_TEXT) throw invalid(text, TOO_LONG);
  if (isIpv4(text) || isIpv6(text)) throw invalid(text, 'it is an IP address');
  const labels = text.split(SEPARATOR);
  if (labels.length > 1 && labels.at(-1) === '') labels.pop();
  const name = labels.map((label) => canonicalLabel(label, text)).join('.');
  if (name.length > MAX_NAME) throw invalid(text, TOO_LONG);
  if (/(?:^|\.)\d+$/.test(name)) throw invalid(text, 'its last label is all digits');
  if (/(?:^|\.)-[^.]*$|-$/.test(name)) throw invalid(text, 'its last label begins or ends with "-"');
  return name;
});

function canonicalLabel(label: string, text: string): string {
  const ascii = toALabel(label)?.toLowerCase();
  if (ascii === undefined) throw invalid(text, `the label ${quoted(label)} has no form in ASCII (UTS 46)`);
  if (ascii === '') throw invalid(text, 'it has an empty label');
  if (/[^a-z0-9_-]/.test(ascii)) throw invalid(text, 'its labels may hold only letters, digits, "-" and "_"');
  if (ascii.length > 63) throw invalid(text, 'it has a label longer than 63 characters');
  return ascii;
}

function invalid(text: string, reason: string): InvalidDomainError {
  return new InvalidDomainError(`${quoted(text)} is not a domain name: ${reason}.`);
}

/** The domain of an owner name, or the closest above it: of `*.a.example`, `a.example`. Null: there is none. */
export function domainOfOwner(host: string): string | null {
  for (const name of [host, ...ancestorsOf(host)]) {
    const domain = attempt(() => parseDomainName(name));
    if (domain !== undefined) return domain;
  }
  return null;
}

/** A canonical name for display: A-labels in Unicode where they can be decoded, and unchanged where not. */
export function unicodeName(name: string): string {
  return name.replace(/(?<![^.])xn--[^.]*/g, (label) => {
    const decoded = domainToUnicode(`${label}.x`).slice(0, -2);
    return toALabel(decoded) === label ? decoded : label;
  });
}
