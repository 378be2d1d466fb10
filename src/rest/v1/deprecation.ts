/** Notice that an operation is not to be used any more. */
export interface Deprecation {
  /** When it came, or comes, to be deprecated. */
  readonly since: Date;
  /** The address where people read what to use instead. */
  readonly notice: string;
  /** When it will answer no longer; absent: not decided. Never before `since` (RFC 9745, section 5). */
  readonly sunset?: Date;
}

/**
 * The header fields that tell clients of a deprecation: Deprecation with its link (RFC 9745, sections 2
 * and 3), and Sunset with its own (RFC 8594, sections 3 and 6).
 *
 * @throws RangeError for a sunset before the deprecation: the program is wrong.
 */
export function deprecationFields({ since, notice, sunset }: Deprecation): Readonly<Record<string, string>> {
  const deprecation = `@${Math.floor(since.getTime() / 1000)}`;
  const link = `<${notice}>; rel="deprecation"; type="text/html"`;
  if (sunset === undefined) return { deprecation, link };
  if (sunset < since) throw new RangeError('An operation cannot end before it is deprecated.');
  return {
    deprecation,
    sunset: sunset.toUTCString(),
    link: `${link}, <${notice}>; rel="sunset"; type="text/html"`,
  };
}
