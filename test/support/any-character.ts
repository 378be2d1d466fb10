import fc from 'fast-check';

const SURROGATES = { first: 0xd800, count: 0x800 };

/** Any code point but surrogates, for fc.string(). Its own `binary` makes a table of them all, in each process. */
export const anyCharacter = fc.integer({ min: 0, max: 0x10_ffff - SURROGATES.count }).map(
  (number) => String.fromCodePoint(number < SURROGATES.first ? number : number + SURROGATES.count),
  (text) => {
    const [character, ...others] = typeof text === 'string' ? [...text] : [];
    const point = character?.codePointAt(0);
    if (point === undefined || others.length > 0) throw new Error('It is no character.');
    return point < SURROGATES.first ? point : point - SURROGATES.count;
  },
);
