import { parseDomainName } from '../model/domain-name.js';
import { invalidValue } from '../model/errors.js';
import { addHeaderField, joinHeaderFields, textOfOctets } from '../model/header-fields.js';
import { alwaysIgnoring } from '../model/ignored-headers.js';
import { canonicalIp, isIpv4, isIpv6 } from '../model/ip-address.js';
import { isJsonObject, readAt, readOr, requireText } from '../model/json-values.js';
import { memoized } from '../model/memoized.js';
import { isStatus, type Observation } from '../model/observation.js';
import { type HeaderField, parseResponseHead } from '../model/response-head.js';
import { quoted } from '../model/text.js';
import { requireWhole } from './dns-answers.js';
import { type FormatParser, type Json, parseJsonLine, parseObservedAt } from './json-line.js';
import type { Remark } from './lines.js';

/**
 * What Go's HTTP client takes out of a response: the first two where it has unpacked a body, the others
 * always, and `raw_header` has only some of them again. If one is missing, nothing is known about it.
 */
const TAKEN_OUT = ['content-encoding', 'content-length', 'trailer', 'transfer-encoding'];

type Field = readonly [name: string, value: unknown];

const LEFT_OUT = 'A header field was left out that cannot be read.';
const UNDERSCORES =
  'httpx -irh writes each - of a field name as _, so that names with _ cannot be told from others: all are ' +
  'taken as names with -. Run it with -irr for exact names.';

/**
 * Lines of httpx `-json`, versions 1.6 and 1.7: the response headers of a domain's front page.
 *
 * Its `a`, `aaaa` and `cname` are no observation of DNS: they have no owners, may be from the hosts file, and
 * do not tell a type without records from one that was not queried or did not answer.
 *
 * @param ignored Field names in lower case that are left out, and never count as absent.
 */
export function createHttpxParser(ignored: ReadonlySet<string>): FormatParser {
  const always = alwaysIgnoring(ignored);
  // Observations share the few sets that there are.
  const ignoring = memoized(
    (missing: string) => alwaysIgnoring([...ignored, ...(missing.match(/\S+/g) ?? [])]),
    1 << TAKEN_OUT.length,
  );
  return (text, now) => {
    const line = parseJsonLine(text);
    requireFrontPage(line);
    const domain = domainOf(line);
    const observedAt = parseObservedAt('timestamp', line['timestamp'], now);
    const isRecorded = ([name]: Field) => !always.has(name.toLowerCase());
    const given = fieldsOf(line).filter(isRecorded);
    const isUnclear = line['raw_header'] === undefined && given.some(([name]) => name.includes('_'));
    const hyphenated = () => given.map(([name, value]): Field => [name.replaceAll('_', '-'), value]);
    const [httpHeaders, unread] = joinFields(isUnclear ? hyphenated().filter(isRecorded) : given);
    const missing = ignoring(TAKEN_OUT.filter((name) => !httpHeaders.has(name)).join(' '));
    const ignoredHeaders = unread.size === 0 ? missing : alwaysIgnoring([...missing, ...unread.keys()]);
    const observation = { domain, observedAt, source: 'httpx', httpHeaders, ignoredHeaders };
    const remarks = [...unread.values()].slice(0, 1).map((example): Remark => ({ text: LEFT_OUT, example }));
    if (isUnclear) remarks.push({ text: UNDERSCORES });
    return { observations: [{ ...observation, ...responseOf(line) }], remarks };
  };
}

function requireFrontPage({ failed, method, final_url, chain_status_codes, chain }: Json): void {
  if (failed === true) throw invalidValue('failed: httpx got no response; nothing was observed.');
  if (method !== undefined && method !== 'GET')
    throw invalidValue('method: it is not GET; run httpx without -x.');
  // These keys are there only where at least one redirect was followed.
  if ([final_url, chain_status_codes, chain].some((key) => key !== undefined))
    throw invalidValue(
      'httpx has followed redirects, and the headers are those of the last page: run it without ' +
        '-follow-redirects and -follow-host-redirects.',
    );
}

/** By `url`, which was requested; `host` is an IP address in versions up to 1.7.2. */
function domainOf({ url, input }: Json): string {
  const domain =
    url === undefined && input !== undefined ? null : readAt('url', () => frontPageDomain(requireText(url)));
  if (input === undefined && domain !== null) return domain;
  return readAt('input', () => {
    // httpx requests the domain itself for what is listed as `*.example.com` or `.example.com`.
    const listed = requireText(input).trim();
    const target = listed.replace(/^[*.]+/, '');
    if (domain === null) return frontPageDomain(target);
    // One host may have been requested for the page of another, for example by `-vhost-input`.
    if (parseDomainName(parseAddress(target).host) === domain) return domain;
    throw invalidValue(`${quoted(target)} is not of the domain in url, ${quoted(domain)}.`);
  });
}

/** Nothing where the line does not say all of it. `host` is the address in versions up to 1.7.2. */
function responseOf({ url, status_code: status, host_ip, host }: Json): Pick<Observation, 'response'> {
  const scheme = typeof url === 'string' ? parseAddress(url).scheme : undefined;
  const texts = [host_ip, host].filter((value) => typeof value === 'string');
  const address = texts.find((text) => isIpv4(text) || isIpv6(text));
  const isComplete = (scheme === 'https' || scheme === 'http') && isStatus(status) && address !== undefined;
  return isComplete ? { response: { scheme, status, address: canonicalIp(address) } } : {};
}

function fieldsOf({ raw_header: raw, header }: Json): readonly Field[] {
  if (raw !== undefined) return readAt('raw_header', () => rawFields(requireText(raw)));
  if (isJsonObject(header)) return Object.entries(header);
  if (header !== undefined) throw invalidValue('header: it is not an object.');
  throw invalidValue(
    'it has neither raw_header nor header: run httpx with -irh (-include-response-header), or with -irr ' +
      '(-include-response) for the exact names.',
  );
}

/** What cannot be read of a field costs all of its name. @returns the fields, and why others are lost. */
function joinFields(given: readonly Field[]) {
  const values = new Map<string, string[]>();
  const unread = new Map<string, string>();
  for (const [name, value] of given) {
    const add = () => addHeaderField(values, name, requireWhole(requireText(value)));
    const note = (reason: string) => unread.set(name.toLowerCase(), reason);
    readOr(() => readAt(quoted(name), add), note);
  }
  for (const name of unread.keys()) values.delete(name);
  return [joinHeaderFields(values), unread] as const;
}

/** How `HTTP/` begins in base64, which -irrb (-include-response-base64) writes. */
const HEAD_IN_BASE64 = /^SFRUUC[8-9+/]/;

function rawFields(head: string): readonly HeaderField[] {
  if (!HEAD_IN_BASE64.test(head)) return parseResponseHead(head).fields;
  const { fields } = parseResponseHead(Buffer.from(head, 'base64').toString('latin1'));
  return fields.map(([name, value]) => [textOfOctets(name), textOfOctets(value)]);
}

/** RFC 3986, section 3 and appendix B; the scheme may be missing. */
const ADDRESS = /^(?:([a-z][a-z0-9+.-]*):\/\/)?([^/?#]*)(.*)$/is;
const AUTHORITY = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/;

/** Scheme and port, either of which may be missing (RFC 9110, section 4.2). */
const FRONT_PAGE = /^(?:(?:https?)?:|(?:https)?:443|(?:http)?:80)$/;

/** What is seen at another port, path or scheme would alternate with the front page in one history. */
function frontPageDomain(address: string): string {
  const { scheme = '', host, port = '', path } = parseAddress(address);
  if (FRONT_PAGE.test(`${scheme}:${port}`) && /^\/?$/.test(path)) return parseDomainName(host);
  throw invalidValue(
    `${quoted(address)} is not the front page of a domain, such as https://example.org/: ` +
      'run httpx on names alone, without -p and -path.',
  );
}

/** The scheme is in lower case; the host is empty where there is none. */
export function parseAddress(address: string) {
  const [, scheme, authority = '', path = ''] = ADDRESS.exec(address) ?? [];
  const [, host = authority, port] = AUTHORITY.exec(authority) ?? [];
  // Without the brackets of an IPv6 address, which is no domain either, but has a message of its own.
  return { scheme: scheme?.toLowerCase(), host: host.replace(/^\[(.*)\]$/, '$1'), port, path };
}
