/**
 * How long, and by whom, an answer may be kept (RFC 9111, section 5.2.2): by everybody only if it is for
 * everybody. When its time is over it is asked for anew before it is used, which an unchanged state answers
 * by 304.
 *
 * @param maxAge In seconds.
 */
export function cacheControl(audience: 'public' | 'private', maxAge: number): string {
  return `${audience}, max-age=${maxAge}, must-revalidate`;
}
