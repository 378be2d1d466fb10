/** The canonical forms of names, addresses, texts and times, without a line of the program that they are to check. */

import { domainToASCII } from 'node:url';

/** In lower case, without the final dot; one that is escaped (`a\.`) belongs to the last label. The root is `.`. */
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
  const isAscii = (label: string) => Buffer.byteLength(label) === label.length;
  return labels.map((label) => (isAscii(label) ? label.toLowerCase() : domainToASCII(label))).join('.');
}

export function ipv4(text: string): string {
  return text.split('.').map(Number).join('.');
}

/** An IPv6 address as RFC 5952, sections 4 and 5, write it. */
export function ipv6(text: string): string {
  const address = new URL(`http://[${text}]`).hostname.slice(1, -1);
  const [, ...mapped] = /^::ffff:([^:]+):([^:]+)$/.exec(address) ?? [];
  if (mapped.length === 0) return address;
  const octets = mapped
    .map((group) => Number.parseInt(group, 16))
    .flatMap((group) => [group >> 8, group & 255]);
  return `::ffff:${octets.join('.')}`;
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

/** An RFC 3339 time as `YYYY-MM-DDTHH:MM:SS.ffffffZ`, further digits cut. Such texts sort as the times do. */
export function timestamp(text: string): string {
  const parts = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|z|[+-]\d\d:\d\d)$/.exec(text);
  if (parts === null) throw new Error(`not an RFC 3339 time: ${text}`);
  const [, date, time, fraction = '', offset = 'Z'] = parts;
  const second = new Date(`${date}T${time}${offset.toUpperCase()}`).toISOString().slice(0, 19);
  return `${second}.${fraction.padEnd(6, '0').slice(0, 6)}Z`;
}
