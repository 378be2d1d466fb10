/**
 * The domain's name as a path's segment holds it, percent-decoded. What is not percent-encoded UTF-8 (RFC 3986,
 * section 2.1) stays as it came: with a "%" in it, it is rejected like every name that is not valid.
 */
export function decodeDomain(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
