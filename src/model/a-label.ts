import { domainToASCII, domainToUnicode } from 'node:url';

const NON_ASCII = /[^\p{ASCII}]/u;
const CONVERTIBLE = /^(?:[A-Za-z0-9_-]|[^\p{ASCII}])+$/u;

/** No label of at most 63 octets comes from a longer text; Punycode's cost grows with its square. */
const LONGEST_CONVERTED = 252;

/** Whether a label must be converted before DNS can hold it. */
export function needsConversion(label: string): boolean {
  return NON_ASCII.test(label);
}

/**
 * The A-label of one label that needs conversion, by UTS 46, non-transitional; undefined where it has
 * none. Its ASCII characters must be letters, digits, `-` or `_`: others mean something to the URL
 * parser behind domainToASCII. The added label `x` keeps that parser from reading an IPv4 address.
 */
export function toALabel(label: string): string | undefined {
  if (label.length > LONGEST_CONVERTED || !CONVERTIBLE.test(label)) return undefined;
  const converted = domainToASCII(`${label}.x`);
  return /^[^.]+\.x$/.test(converted) ? converted.slice(0, -2) : undefined;
}

/**
 * The Unicode form of a lower-case label; the label itself where it has none, where that form is not its
 * own, or where it begins or ends with a hyphen (UTS 46, section 4.1, CheckHyphens).
 */
export function toUnicodeLabel(label: string): string {
  if (!label.startsWith('xn--')) return label;
  const decoded = decode(label);
  const own = needsConversion(decoded) && !hasHyphenAtEnd(decoded) && toALabel(decoded) === label;
  return own ? decoded : label;
}

/** Whether the Unicode form of an A-label of toALabel() begins or ends with a hyphen, which is not allowed. */
export function hidesHyphenAtEnd(aLabel: string): boolean {
  return hasHyphenAtEnd(decode(aLabel));
}

/** Whether a label begins or ends with `-`. */
export function hasHyphenAtEnd(label: string): boolean {
  return label.startsWith('-') || label.endsWith('-');
}

function decode(label: string): string {
  return domainToUnicode(`${label}.x`).slice(0, -2);
}
