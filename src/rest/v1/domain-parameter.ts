import { InvalidDomainError } from '../../model/errors.js';
import { quoted } from '../../model/quoted.js';

/**
 * The domain's name as a path's segment holds it, percent-decoded.
 *
 * @throws InvalidDomainError for escapes that are not those of UTF-8 text.
 */
export function decodeDomain(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new InvalidDomainError(
      `${quoted(segment)} is not a domain name: it is not percent-encoded UTF-8 (RFC 3986, section 2.1).`,
    );
  }
}
