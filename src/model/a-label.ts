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

/** The Unicode form of a lower-case label; the label itself where it has none, or where that form is not its own. */
export function toUnicodeLabel(label: string): string {
  if (!label.startsWith('xn--')) return label;
  const decoded = domainToUnicode(`${label}.x`).slice(0, -2);
  return needsConversion(decoded) && toALabel(decoded) === label ? decoded : label;
}
