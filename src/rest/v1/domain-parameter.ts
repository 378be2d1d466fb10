import { InvalidDomainError } from '../../model/errors.js';

/**
 * The domain's name as a path's segment holds it, percent-decoded. Bytes outside ASCII that a client has
 * sent without escaping them are taken for UTF-8 too: Node.js gives each as one character.
 *
 * @throws InvalidDomainError for escapes that are not those of UTF-8 text.
 */
export function decodeDomain(segment: string): string {
  const escaped = segment.replace(/[\u0080-\u00ff]/g, encodeByte);
  try {
    return decodeURIComponent(escaped);
  } catch {
    throw new InvalidDomainError(
      `${JSON.stringify(escaped)} is not a domain name: it is not percent-encoded UTF-8 (RFC 3986, section 2.1).`,
    );
  }
}

function encodeByte(character: string): string {
  return `%${character.charCodeAt(0).toString(16)}`;
}
