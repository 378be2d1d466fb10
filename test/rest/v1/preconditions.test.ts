import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isUnmodified, validatorsOf } from '../../../src/rest/v1/validators.js';

const OPERATION = 'Ab-_0123';
const validators = validatorsOf({ version: '1700000000000001' }, OPERATION);

/** Any other tag (RFC 9110, section 8.8.3), commas and all. */
const otherTag = fc
  .tuple(fc.constantFrom('', 'W/'), fc.stringMatching(/^[!#-~]{0,20}$/))
  .map(([weak, text]) => `${weak}"${text}"`)
  .filter((tag) => !validators.etag.endsWith(tag.replace('W/', '')));
const separator = fc.constantFrom(',', ', ', ' ,\t');

test('a tag is found in a list of any others, and in none that lacks it', () => {
  fc.assert(
    fc.property(fc.array(otherTag), fc.array(otherTag), separator, (before, after, comma) => {
      const without = [...before, ...after].join(comma);
      expect(isUnmodified({ 'if-none-match': without }, validators)).toBe(false);
      const list = { 'if-none-match': [...before, validators.etag, ...after].join(comma) };
      expect(isUnmodified(list, validators)).toBe(true);
    }),
  );
});

test('a time of recording counts as the next whole second, so that none is passed over', () => {
  expect(validators.lastModified).toBe(Date.UTC(2023, 10, 14, 22, 13, 21) / 1000);
});
