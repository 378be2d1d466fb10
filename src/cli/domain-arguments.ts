import { hostOf } from '../importers/front-page.js';
import { parseDomainName } from '../model/domain-name.js';
import { InvalidDomainError, UsageError } from '../model/errors.js';
import { isIpv4, isIpv6 } from '../model/ip-address.js';
import { quoted } from '../model/text.js';

/**
 * The canonical names of domains on the command line, each once, in their order.
 *
 * @throws UsageError for the first that is not a name; where a name can be told from it, the message gives it.
 */
export function parseDomains(texts: readonly string[]): string[] {
  return [...new Set(texts.map(parseDomain))];
}

/** The canonical name of one domain. @throws UsageError as parseDomains() does. */
export function parseDomain(text: string): string {
  try {
    return parseDomainName(text);
  } catch (error) {
    if (!(error instanceof InvalidDomainError)) throw error;
    throw new UsageError(explain(text, error.message), { cause: error });
  }
}

function explain(text: string, complaint: string): string {
  if (isIpv4(text)) {
    const name = `${text.split('.').reverse().join('.')}.in-addr.arpa`;
    return `${complaint} Write a name; that of the address itself is ${name}.`;
  }
  if (isIpv6(text)) {
    return `${complaint} Write a name; that of the address itself is the one that it has in ip6.arpa.`;
  }
  const host = hostOf(text);
  if (host === text || !isName(host)) return complaint;
  return `${quoted(text)} is not a domain name: write ${host}.`;
}

function isName(text: string): boolean {
  try {
    return parseDomainName(text) !== '';
  } catch {
    return false;
  }
}
