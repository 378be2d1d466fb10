import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  canonicalCharacterString,
  characterStringOctets,
  characterStringText,
} from '../../src/model/character-string.js';
import { InvalidObservationError } from '../../src/model/errors.js';

/** Octets among which escapes, digits, NUL and parts of UTF-8 are frequent. */
const octets = fc
  .array(
    fc.oneof(fc.integer({ min: 0, max: 255 }), fc.constantFrom(0x5c, 0x30, 0x32, 0x35, 0x36, 0, 0xc3, 0xa9)),
    {
      maxLength: 60,
    },
  )
  .map((bytes) => Buffer.from(bytes));

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(fc.constantFrom('\\', '0', '2', '5', '6', '\\000', '\\195', '\\169', 'é', 'a', '"'))
    .map((parts) => parts.join('')),
);

test('any octets survive in TXT data', () => {
  fc.assert(
    fc.property(octets, (bytes) => {
      const written = characterStringText(bytes);
      expect(written).not.toContain('\0');
      expect(characterStringOctets(written)).toEqual(bytes);
    }),
    { numRuns: 1000 },
  );
});

test('equal octets have equal text, which stays as it is', () => {
  fc.assert(
    fc.property(text, (given) => {
      const canonical = canonicalCharacterString(given);
      expect(characterStringOctets(canonical)).toEqual(characterStringOctets(given));
      expect(canonicalCharacterString(canonical)).toBe(canonical);
      const inDecimals = Array.from(
        characterStringOctets(given),
        (octet) => `\\${String(octet).padStart(3, '0')}`,
      );
      expect(canonicalCharacterString(inDecimals.join(''))).toBe(canonical);
    }),
    { numRuns: 1000 },
  );
});

test.each([
  ['', ''],
  ['v=spf1 -all', 'v=spf1 -all'],
  ['say "hi"; é 日本 😀', 'say "hi"; é 日本 😀'],
  ['\ufeffa', '\ufeffa'],
  ['a\0b', String.raw`a\000b`],
  [String.raw`a\000b`, String.raw`a\000b`],
  [String.raw`\065\066`, 'AB'],
  [String.raw`\195\169`, 'é'],
  [String.raw`\195\065`, String.raw`\195A`],
  [String.raw`\169\195`, String.raw`\169\195`],
  [String.raw`\237\160\128`, String.raw`\237\160\128`],
  [String.raw`\192\128`, String.raw`\192\128`],
  [String.raw`\240\159\152\128`, '😀'],
  [String.raw`\255`, String.raw`\255`],
  [String.raw`\256`, String.raw`\256`],
  [String.raw`\999`, String.raw`\999`],
  [String.raw`\25`, String.raw`\25`],
  [String.raw`\;`, String.raw`\;`],
  [String.raw`\"`, String.raw`\"`],
  ['\\', '\\'],
  [String.raw`\\`, String.raw`\\`],
  [String.raw`\092`, '\\'],
  [String.raw`\092065`, String.raw`\092065`],
  [String.raw`\092256`, String.raw`\256`],
  [String.raw`\\065`, String.raw`\A`],
  [String.raw`\092\092065`, String.raw`\\092065`],
])('%j is %s', (given, canonical) => {
  expect(canonicalCharacterString(given)).toBe(canonical);
});

test.each(['\ud800', 'a\udc00b', '\\000\ud800'])('the lone surrogate in %j is rejected', (given) => {
  expect(() => canonicalCharacterString(given)).toThrow(InvalidObservationError);
  expect(() => canonicalCharacterString(given)).toThrow('lone surrogate');
});
