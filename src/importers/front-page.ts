import { parseDomainName } from '../model/domain-name.js';
import { InvalidObservationError } from '../model/errors.js';
import { quoted } from '../model/text.js';

/** Scheme, host, port, and what follows them: RFC 3986, section 3 and appendix B. A scheme may be missing. */
const ADDRESS = /^(?:([a-z][a-z0-9+.-]*):\/\/)?([^/?#]*)(.*)$/is;
const AUTHORITY = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/;

/** Scheme and port of a front page, either of which may be missing (RFC 9110, section 4.2). */
const FRONT_PAGE = /^(?:(?:https?)?:|(?:https)?:443|(?:http)?:80)$/;

/**
 * The canonical name of the domain whose front page an address names: `https://{domain}/` or
 * `http://{domain}/`, the port and the slash written or not, or the domain alone.
 *
 * @throws InvalidDomainError, InvalidObservationError for an IP address, another port, path or scheme:
 *   what is seen there is not the front page's, and would alternate with that in one history.
 */
export function frontPageDomain(address: string): string {
  const { scheme = '', host, port = '', path } = parseAddress(address);
  if (FRONT_PAGE.test(`${scheme}:${port}`) && /^\/?$/.test(path)) return parseDomainName(host);
  throw new InvalidObservationError(
    `${quoted(address)} is not the front page of a domain, such as https://example.org/: ` +
      'run httpx on names alone, without -p and -path.',
  );
}

/** The scheme is in lower case; undefined: there is none. The host is empty where there is none. */
export function parseAddress(address: string) {
  const [, scheme, authority = '', path = ''] = ADDRESS.exec(address) ?? [];
  const [, host = authority, port] = AUTHORITY.exec(authority) ?? [];
  // Without the brackets of an IPv6 address, which is no domain either, but has a message of its own.
  return { scheme: scheme?.toLowerCase(), host: host.replace(/^\[(.*)\]$/, '$1'), port, path };
}
