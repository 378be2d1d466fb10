import { parseDomainName } from '../model/domain-name.js';
import { InvalidObservationError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';
import { canonicalIp, isIpv4, isIpv6 } from '../model/ip-address.js';
import { readAt, requireText } from '../model/json-values.js';
import type { Observation } from '../model/observation.js';
import { quoted } from '../model/text.js';
import { frontPageDomain, hostOf, schemeOf } from './front-page.js';
import { createHttpxHeaders } from './httpx-headers.js';
import { parseJsonLine, parseObservedAt } from './json-line.js';

type HttpxLine = Readonly<Record<string, unknown>>;

/** Gives the observation of a line of httpx; throws InvalidObservationError for one that it rejects. */
export type ParseHttpxLine = (line: string, now: Instant) => Observation;

/**
 * Makes what reads the lines that httpx of ProjectDiscovery writes with `-json`, versions 1.6 and 1.7: the
 * response headers of a domain's front page. Keys that it does not need are passed over.
 *
 * Its `a`, `aaaa` and `cname` are no observation of DNS: they are what httpx needed to connect, from
 * whichever of its resolvers answered first or from the hosts file, without owners, and nothing tells a
 * type without records from one that was not asked or did not answer.
 *
 * @param ignored Field names in lower case that are left out, and never count as absent.
 */
export function createHttpxParser(ignored: ReadonlySet<string>): ParseHttpxLine {
  const readHeaders = createHttpxHeaders(ignored);
  return (text, now) => {
    const line = parseJsonLine(text);
    requireFrontPage(line);
    const domain = domainOf(line);
    const observedAt = parseObservedAt('timestamp', line['timestamp'], now);
    return { domain, observedAt, source: 'httpx', ...readHeaders(line), ...responseOf(line) };
  };
}

function requireFrontPage({ failed, method, final_url, chain_status_codes, chain }: HttpxLine): void {
  if (failed === true) {
    throw new InvalidObservationError('failed: httpx got no response; nothing was observed.');
  }
  if (method !== undefined && method !== 'GET') {
    throw new InvalidObservationError('method: it is not GET; run httpx without -x.');
  }
  // These keys are there only where at least one redirect was followed.
  if (final_url !== undefined || chain_status_codes !== undefined || chain !== undefined) {
    throw new InvalidObservationError(
      'httpx has followed redirects, and the headers are those of the last page: run it without ' +
        '-follow-redirects and -follow-host-redirects.',
    );
  }
}

/** By `url`, which was asked; `host` is an IP address in versions up to 1.7.2. */
function domainOf({ url, input }: HttpxLine): string {
  if (url === undefined && input === undefined) {
    throw new InvalidObservationError('url: it is missing, and so is input.');
  }
  if (url === undefined) return readAt('input', () => frontPageDomain(targetOf(input)));
  const domain = readAt('url', () => frontPageDomain(requireText(url)));
  if (input !== undefined) readAt('input', () => requireSameHost(domain, targetOf(input)));
  return domain;
}

/** Nothing where the line does not say all of it. `host` is the address in versions up to 1.7.2. */
function responseOf({ url, status_code: status, host_ip, host }: HttpxLine): Pick<Observation, 'response'> {
  const scheme = typeof url === 'string' ? schemeOf(url) : undefined;
  const address = [host_ip, host].find(isIpAddress);
  const isComplete = (scheme === 'https' || scheme === 'http') && isStatus(status) && address !== undefined;
  return isComplete ? { response: { scheme, status, address: canonicalIp(address) } } : {};
}

function isIpAddress(value: unknown): value is string {
  return typeof value === 'string' && (isIpv4(value) || isIpv6(value));
}

function isStatus(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 100 && Number(value) <= 999;
}

/** httpx asks the domain itself for what is listed as `*.example.com` or `.example.com`. */
function targetOf(input: unknown): string {
  return requireText(input)
    .trim()
    .replace(/^[*.]+/, '');
}

/** One host may have been asked for the page of another: `-vhost-input`, say. */
function requireSameHost(domain: string, target: string): void {
  if (parseDomainName(hostOf(target)) === domain) return;
  throw new InvalidObservationError(`${quoted(target)} is not of the domain in url, ${quoted(domain)}.`);
}
