/**
 * The order of code points, and of PostgreSQL's collation "C". Plain `<` compares UTF-16 units: it puts a
 * surrogate pair (U+10000 and above) before U+E000 to U+FFFF.
 *
 * @param omitted How many UTF-16 units at the end of both do not count.
 */
export function compareUtf8(a: string, b: string, omitted = 0): number {
  // Mostly they are one string, which takes no time to compare.
  if (a === b) return 0;
  const shared = Math.min(a.length, b.length) - omitted;
  let at = 0;
  while (at < shared && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  return at === shared
    ? a.length - b.length
    : codePointRank(a.charCodeAt(at)) - codePointRank(b.charCodeAt(at));
}

/** Surrogates (U+D800 to U+DFFF) stand for the highest code points, so they rank above U+FFFF. */
function codePointRank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}
