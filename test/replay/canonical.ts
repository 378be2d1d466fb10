/**
 * The canonical forms of names, addresses, texts and times, each written in the plainest way that
 * the standards allow, and on purpose without a line of the program that they are to check.
 */

import { domainToASCII } from 'node:url';

/**
 * A host name as records carry it: lower case, no final dot; the root is `.`. A final dot that is
 * escaped (`a\.`) belongs to the last label and stays.
 */
export function hostName(text: string): string {
  const lower = text.toLowerCase();
  if (lower === '.' || !lower.endsWith('.')) return lower;
  const withoutDot = lower.slice(0, -1);
  const backslashes = withoutDot.length - withoutDot.replace(/\\+$/, '').length;
  return backslashes % 2 === 1 ? lower : withoutDot;
}

/** A monitored domain's name: lower-case A-labels (UTS 46, non-transitional), no final dot. */
export function domainName(text: string): string {
  const labels = text
    .replace(/[\u3002\uff0e\uff61]/g, '.')
    .replace(/\.$/, '')
    .split('.');
  return labels.map((label) => (isAscii(label) ? label.toLowerCase() : domainToASCII(label))).join('.');
}

function isAscii(text: string): boolean {
  return Buffer.byteLength(text) === text.length;
}

/** An IPv4 address as four decimal numbers. */
export function ipv4(text: string): string {
  return text.split('.').map(Number).join('.');
}

/** An IPv6 address as RFC 5952, sections 4 and 5, write it. */
export function ipv6(text: string): string {
  const groups = ipv6Groups(text);
  if (groups.slice(0, 6).join(':') === '0:0:0:0:0:ffff') return `::ffff:${lastTwoAsIpv4(groups)}`;
  return compress(groups);
}

/** The eight groups of an IPv6 address in lower-case hexadecimal without leading zeros. */
function ipv6Groups(text: string): string[] {
  const [head = '', tail] = text.split('::');
  const left = groupsOf(head);
  const right = groupsOf(tail ?? '');
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0');
  return [...left, ...zeros, ...right];
}

function groupsOf(text: string): string[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16).toString(16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [(a * 256 + b).toString(16), (c * 256 + d).toString(16)];
  });
}

function lastTwoAsIpv4(groups: readonly string[]): string {
  const numbers = groups.slice(6).map((group) => Number.parseInt(group, 16));
  return numbers.flatMap((number) => [Math.floor(number / 256), number % 256]).join('.');
}

/** Puts `::` in the place of the longest run of two or more zero groups, the first of equal ones. */
function compress(groups: readonly string[]): string {
  for (let length = 8; length >= 2; length -= 1) {
    for (let start = 0; start + length <= 8; start += 1) {
      if (groups.slice(start, start + length).every((group) => group === '0')) {
        return `${groups.slice(0, start).join(':')}::${groups.slice(start + length).join(':')}`;
      }
    }
  }
  return groups.join(':');
}

/** The bytes of a TXT segment: text is UTF-8, `\DDD` up to 255 is one byte (RFC 1035, section 5.1). */
export function txtBytes(text: string): Buffer {
  const pieces = text.split(/(\\(?:[01]\d\d|2[0-4]\d|25[0-5]))/);
  return Buffer.concat(
    pieces.map((piece, index) => (index % 2 === 0 ? Buffer.from(piece) : Buffer.of(Number(piece.slice(1))))),
  );
}

/**
 * The text of TXT bytes: what is UTF-8 as it is; NUL and every other byte as `\DDD`; a backslash that
 * three digits up to 255 follow as `\092`, so that it is not read as such an escape.
 */
export function txtText(bytes: Buffer): string {
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const character = characterAt(bytes, at);
    text += character ?? `\\${String(bytes[at]).padStart(3, '0')}`;
    at += character === undefined ? 1 : Buffer.byteLength(character);
  }
  return text;
}

/** The character that stands at a place of the bytes; undefined where it has to be escaped. */
function characterAt(bytes: Buffer, at: number): string | undefined {
  if (bytes[at] === 0) return undefined;
  const digits = bytes.subarray(at + 1, at + 4).toString('latin1');
  if (bytes[at] === 0x5c && /^\d{3}$/.test(digits) && Number(digits) <= 255) return undefined;
  for (let length = 1; length <= 4; length += 1) {
    const piece = bytes.subarray(at, at + length);
    const character = piece.toString('utf8');
    if (Buffer.from(character).equals(piece)) return character;
  }
  return undefined;
}

/**
 * An RFC 3339 time as `YYYY-MM-DDTHH:MM:SS.ffffffZ`, further digits cut. Such strings sort as the
 * times do.
 */
export function timestamp(text: string): string {
  const parts = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|z|[+-]\d\d:\d\d)$/.exec(text);
  if (parts === null) throw new Error(`not an RFC 3339 time: ${text}`);
  const [, date, time, fraction = '', offset = 'Z'] = parts;
  const second = new Date(`${date}T${time}${offset.toUpperCase()}`).toISOString().slice(0, 19);
  return `${second}.${fraction.padEnd(6, '0').slice(0, 6)}Z`;
}
