import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  canonicalCharacterString,
  characterStringOctets,
  characterStringText,
} from '../../src/model/character-string.js';
import { anyCharacter } from '../support/any-character.js';

/** Octets among which escapes, digits, NUL and parts of UTF-8 are frequent. */
const octet = fc.oneof(fc.nat({ max: 255 }), fc.constantFrom(0x5c, 0x30, 0x32, 0x35, 0x36, 0, 0xc3, 0xa9));

test('any octets survive in TXT data', () => {
  fc.assert(
    fc.property(fc.array(octet, { maxLength: 60 }), (octets) => {
      const written = characterStringText(Buffer.from(octets));
      expect(written).not.toContain('\0');
      expect([...characterStringOctets(written)]).toEqual(octets);
    }),
    { numRuns: 1000 },
  );
});

test('equal octets of TXT data have equal text, which stays as it is', () => {
  const unit = fc.constantFrom('\\', '0', '2', '5', '6', '\\000', '\\195', '\\169', 'é', 'a', '"');
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: anyCharacter }), fc.string({ unit })), (given) => {
      const canonical = canonicalCharacterString(given);
      const octets = characterStringOctets(given);
      expect(characterStringOctets(canonical)).toEqual(octets);
      expect(canonicalCharacterString(canonical)).toBe(canonical);
      const inDecimals = Array.from(octets, (each) => `\\${String(each).padStart(3, '0')}`);
      expect(canonicalCharacterString(inDecimals.join(''))).toBe(canonical);
    }),
    { numRuns: 1000 },
  );
});

test.each([
  ['say "hi"; é 日本 😀', 'say "hi"; é 日本 😀'],
  ['\ufeffa', '\ufeffa'],
  ['a\0b', String.raw`a\000b`],
  [String.raw`\065\066`, 'AB'],
  [String.raw`\195\169`, 'é'],
  [String.raw`\195\065`, String.raw`\195A`],
  [String.raw`\237\160\128`, String.raw`\237\160\128`],
  [String.raw`\240\159\152\128`, '😀'],
  [String.raw`\255\256\25\;\"`, String.raw`\255\256\25\;\"`],
  [String.raw`\\`, String.raw`\\`],
  [String.raw`\092`, '\\'],
  [String.raw`\092065`, String.raw`\092065`],
  [String.raw`\092256`, String.raw`\256`],
  [String.raw`\\065`, String.raw`\A`],
])('the TXT data %j are %s', (given, canonical) => {
  expect(canonicalCharacterString(given)).toBe(canonical);
});
