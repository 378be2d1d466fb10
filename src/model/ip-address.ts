import { InvalidObservationError } from './errors.js';
import { quoted } from './quoted.js';

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
const GROUP = /^[0-9A-Fa-f]{1,4}$/;

/** Whether the text is an IPv4 address in four decimals without leading zeros. */
export function isIpv4(text: string): boolean {
  return IPV4.test(text);
}

/** Whether the text is an IPv6 address in a form of RFC 4291, section 2.2. */
export function isIpv6(text: string): boolean {
  return parseIpv6(text) !== undefined;
}

/**
 * An IPv4 address: four decimals without leading zeros, which is the canonical form already.
 *
 * @throws InvalidObservationError for any other text.
 */
export function canonicalIpv4(text: string): string {
  if (isIpv4(text)) return text;
  throw new InvalidObservationError(
    `${quoted(text)} is not an IPv4 address: write four decimals without leading zeros.`,
  );
}

/**
 * An IPv6 address in the form of RFC 5952: lower case, no leading zeros, `::` for the first longest run
 * of two or more zero groups, and IPv4-mapped addresses (::ffff:0:0/96) with the IPv4 address in decimals.
 *
 * @param text Any form of RFC 4291, section 2.2, without a zone.
 * @throws InvalidObservationError for any other text.
 */
export function canonicalIpv6(text: string): string {
  return formatIpv6(requireGroups(text));
}

/**
 * The 16 octets of an IPv6 address.
 *
 * @param text Any form of RFC 4291, section 2.2, without a zone.
 * @throws InvalidObservationError for any other text.
 */
export function ipv6Octets(text: string): Buffer {
  return Buffer.from(requireGroups(text).flatMap((group) => [group >> 8, group & 0xff]));
}

function requireGroups(text: string): readonly number[] {
  const groups = parseIpv6(text);
  if (groups === undefined) throw new InvalidObservationError(`${quoted(text)} is not an IPv6 address.`);
  return groups;
}

/** An IPv4 or IPv6 address in canonical form. @throws InvalidObservationError for any other text. */
export function canonicalIp(text: string): string {
  return text.includes(':') ? canonicalIpv6(text) : canonicalIpv4(text);
}

/** The eight groups of an address, or undefined where the text is none. */
function parseIpv6(text: string): readonly number[] | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [before = '', after] = halves;
  const head = parseGroups(before, after === undefined);
  if (after === undefined) return head?.length === 8 ? head : undefined;
  const tail = parseGroups(after, true);
  if (head === undefined || tail === undefined || head.length + tail.length > 7) return undefined;
  return [...head, ...Array<number>(8 - head.length - tail.length).fill(0), ...tail];
}

/** The groups between colons; the last two may stand as an IPv4 address at the text's end. */
function parseGroups(text: string, mayEndInIpv4: boolean): number[] | undefined {
  if (text === '') return [];
  const parts = text.split(':');
  const last = parts.at(-1) ?? '';
  const embedded = mayEndInIpv4 && isIpv4(last) ? last.split('.').map(Number) : [];
  if (embedded.length > 0) parts.pop();
  if (!parts.every((part) => GROUP.test(part))) return undefined;
  const groups = parts.map((part) => Number.parseInt(part, 16));
  const [first = 0, second = 0, third = 0, fourth = 0] = embedded;
  return embedded.length > 0 ? [...groups, first * 256 + second, third * 256 + fourth] : groups;
}

function formatIpv6(groups: readonly number[]): string {
  const run = longestZeroRun(groups);
  if (run.start === 0 && run.length >= 5 && isIpv4Mapped(groups)) return `::ffff:${embeddedIpv4(groups)}`;
  if (run.length < 2) return hexadecimal(groups);
  return `${hexadecimal(groups.slice(0, run.start))}::${hexadecimal(groups.slice(run.start + run.length))}`;
}

function hexadecimal(groups: readonly number[]): string {
  return groups.map((group) => group.toString(16)).join(':');
}

/** RFC 4291, section 2.5.5.2: 80 bits of zeros, 16 of ones, and the IPv4 address. */
function isIpv4Mapped(groups: readonly number[]): boolean {
  return groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0);
}

function embeddedIpv4(groups: readonly number[]): string {
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 0xff])
    .join('.');
}

function longestZeroRun(groups: readonly number[]): { start: number; length: number } {
  let longest = { start: 0, length: 0 };
  let start = 0;
  groups.forEach((group, at) => {
    if (group !== 0) start = at + 1;
    else if (at + 1 - start > longest.length) longest = { start, length: at + 1 - start };
  });
  return longest;
}
