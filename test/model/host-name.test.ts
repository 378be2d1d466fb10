import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { InvalidObservationError } from '../../src/model/errors.js';
import { canonicalHostName } from '../../src/model/host-name.js';

const octets = fc.uint8Array({ minLength: 1, maxLength: 40 });
const labels = fc.array(octets, { minLength: 1, maxLength: 6 });

/** A label as a cautious master file writes it: each octet as \DDD. */
function inDecimals(label: Uint8Array): string {
  return Array.from(label, (octet) => `\\${String(octet).padStart(3, '0')}`).join('');
}

/** The octets of a canonical name, read as RFC 1035, section 5.1, says. */
function wireLabels(name: string): number[][] {
  const read: number[][] = [[]];
  for (const [, decimal, escaped, plain] of name.matchAll(/\\(\d{3})|\\(.)|(.)/g)) {
    const octet = decimal === undefined ? (escaped ?? plain ?? '').charCodeAt(0) : Number(decimal);
    if (plain === '.') read.push([]);
    else read.at(-1)?.push(octet);
  }
  return read;
}

describe('a host name has one canonical text', () => {
  test.each([
    ['example.com', 'example.com'],
    ['NS1.Example.COM.', 'ns1.example.com'],
    ['.', '.'],
    ['', '.'],
    ['com', 'com'],
    ['*.example.com', '*.example.com'],
    ['_sip._TCP.example', '_sip._tcp.example'],
    ['-a-.example', '-a-.example'],
    ['192.0.2.7', '192.0.2.7'],
    ['0/25.2.0.192.in-addr.arpa', '0/25.2.0.192.in-addr.arpa'],
    [String.raw`host\.master.Example.com`, String.raw`host\.master.example.com`],
    [String.raw`host\046master.example.com`, String.raw`host\.master.example.com`],
    [String.raw`\069xample.com`, 'example.com'],
    [String.raw`\101xample.com`, 'example.com'],
    [String.raw`\e\x.com`, 'ex.com'],
    [String.raw`a\\b.example`, String.raw`a\\b.example`],
    [String.raw`a\092b.example`, String.raw`a\\b.example`],
    ['a b.example', String.raw`a\032b.example`],
    [String.raw`a\ b.example`, String.raw`a\032b.example`],
    [String.raw`a\000\255.example`, String.raw`a\000\255.example`],
    ['a\tb.example', String.raw`a\009b.example`],
    ['a\u007f.example', String.raw`a\127.example`],
    ['";()@$.example', String.raw`\"\;\(\)\@\$.example`],
    ["a'{}!#%&+,/:<=>?[]^`|~.example", "a'{}!#%&+,/:<=>?[]^`|~.example"],
    [String.raw`example.com\.`, String.raw`example.com\.`],
    ['Bücher.example', 'xn--bcher-kva.example'],
    ['bücher。example。', 'xn--bcher-kva.example'],
    [String.raw`b\195\188cher.example`, String.raw`b\195\188cher.example`],
    ['xn--a.example', 'xn--a.example'],
    ['a.xn--BCHER-kva.0x7', 'a.xn--bcher-kva.0x7'],
  ])('%j is %s', (text, name) => {
    expect(canonicalHostName(text)).toBe(name);
    expect(canonicalHostName(name)).toBe(name);
  });

  test('any labels of octets survive, letters in lower case, and the text stays as it is', () => {
    fc.assert(
      fc.property(labels, (wire) => {
        const name = canonicalHostName(wire.map(inDecimals).join('.'));
        const lower = wire.map((label) => Array.from(label, (o) => (o >= 65 && o <= 90 ? o + 32 : o)));
        expect(wireLabels(name)).toEqual(lower);
        expect(name).toMatch(/^[\x21-\x7e]+$/);
        expect(canonicalHostName(name)).toBe(name);
        expect(canonicalHostName(`${name}.`)).toBe(name);
      }),
    );
  });

  test('any text is either rejected or given a name that stays as it is', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 4 }),
      fc.constantFrom('\\', '.', '\\0', '\\04', '\\046', 'a', 'ü', '。', '\\.'),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const name = nameOrUndefined(pieces.join(''));
        fc.pre(name !== undefined);
        expect(canonicalHostName(name)).toBe(name);
      }),
      { numRuns: 500, maxSkipsPerRun: 1000 },
    );
  });
});

function nameOrUndefined(text: string): string | undefined {
  try {
    return canonicalHostName(text);
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidObservationError);
    return undefined;
  }
}

describe('names at the limits of DNS', () => {
  const label = 'a'.repeat(63);
  const longest = `${label}.${label}.${label}.${'a'.repeat(61)}`;

  test('63 octets in a label and 255 on the wire are allowed, written in whatever way', () => {
    expect(canonicalHostName(longest)).toBe(longest);
    expect(canonicalHostName(`${longest}.`)).toBe(longest);
    const escaped = longest.replaceAll('a', '\\000');
    expect(canonicalHostName(escaped)).toBe(escaped);
  });

  test.each([
    ['a..b', 'an empty label'],
    ['..', 'an empty label'],
    ['.a', 'an empty label'],
    ['a..', 'an empty label'],
    [`${label}a.example`, 'a label longer than 63 octets'],
    [`${'\\000'.repeat(64)}.example`, 'a label longer than 63 octets'],
    [`${longest}a`, 'longer than 255 octets on the wire'],
    [`a.${longest}`, 'longer than 255 octets on the wire'],
    ['a.'.repeat(100_000), 'longer than 255 octets on the wire'],
    ['a\\', 'after "\\" comes a character or \\000 to \\255'],
    [String.raw`a\25.example`, 'after "\\" comes'],
    [String.raw`a\256.example`, 'after "\\" comes'],
    [String.raw`a\9`, 'after "\\" comes'],
    ['a\0b', 'U+0000; write it as \\000'],
    ['ü b.example', 'write octets as \\DDD'],
    ['*ü.example', 'write octets as \\DDD'],
    [String.raw`ü\032.example`, 'write octets as \\DDD'],
    [String.raw`\ü.example`, 'write octets as \\DDD'],
    ['\ud800.example', 'write octets as \\DDD'],
    ['a\ufffd.example', 'write octets as \\DDD'],
  ])('%j is rejected: %s', (text, reason) => {
    expect(() => canonicalHostName(text)).toThrow(InvalidObservationError);
    expect(() => canonicalHostName(text)).toThrow(reason);
  });
});
