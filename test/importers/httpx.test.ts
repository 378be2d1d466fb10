import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createHttpxParser } from '../../src/importers/httpx.js';
import { InvalidObservationError } from '../../src/model/errors.js';
import { addHeaderField, joinHeaderFields } from '../../src/model/header-fields.js';
import { alwaysIgnoring, IGNORED_HEADERS } from '../../src/model/ignored-headers.js';
import { parseInstant } from '../../src/model/instant.js';
import type { Observation } from '../../src/model/observation.js';
import { HEADER, HTTPX_1_7, HTTPX_FAILED, type HttpxKeys, httpxLine } from '../support/httpx-lines.js';

const now = parseInstant('2026-01-01T00:00:00Z');
const recordAll = createHttpxParser(new Set());

/** The only observation of a line. */
function observed(parse: typeof recordAll, line: string): Observation {
  const [observation, ...others] = parse(line, now).observations;
  if (observation === undefined || others.length > 0) throw new Error('There is not one observation.');
  return observation;
}

function parseWith(keys: HttpxKeys): Observation {
  return observed(recordAll, httpxLine(keys));
}

function headersOf(keys: HttpxKeys): Record<string, string> {
  return Object.fromEntries(parseWith(keys).httpHeaders ?? []);
}

function head(...fields: string[]): HttpxKeys {
  return { raw_header: `HTTP/1.1 200 OK\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n` };
}

const FIELDS = {
  ...{ 'content-length': '1256', 'content-type': 'text/html; charset=UTF-8', server: 'nginx' },
  ...{ date: 'Fri, 01 Mar 2024 10:20:30 GMT', via: '1.1 a, 1.1 b' },
};
const HTTPS = { scheme: 'https', status: 200, address: '192.0.2.7' };

test('httpx 1.6 with -irr gives the headers exactly, those of one name joined in their order', () => {
  const { ignoredHeaders: _, ...observation } = parseWith({});
  const httpHeaders = new Map(Object.entries({ ...FIELDS, x_under_score: '1' }));
  const observedAt = parseInstant('2024-03-01T10:20:30.123456Z');
  expect(observation).toEqual({
    domain: 'example.com',
    observedAt,
    source: 'httpx',
    response: HTTPS,
    httpHeaders,
  });
});

test('httpx 1.7 with -irh: each "_" of a header name is taken for the "-" that it nearly always was, which is told', () => {
  const { observations, remarks } = recordAll(JSON.stringify(HTTPX_1_7), now);
  expect(observations).toMatchObject([
    { domain: 'www.example.com', observedAt: parseInstant('2025-12-06T16:52:11.061425Z') },
  ]);
  const headers = Object.fromEntries(observations[0]?.httpHeaders ?? []);
  expect(headers).toEqual({ ...FIELDS, 'x-under-score': '1' });
  expect(remarks).toEqual([{ text: expect.stringMatching(/^httpx -irh writes each -/) }]);
  expect(recordAll(httpxLine({ raw_header: undefined, header: { server: 'a' } }), now).remarks).toEqual([]);
});

test('the exact form of headers is preferred where a line of httpx has both', () => {
  expect(headersOf({ ...head('Server: exact'), header: { server: 'other' } })).toEqual({ server: 'exact' });
});

test('httpx -irrb: octets that are UTF-8 are read so, others as ISO 8859-1', () => {
  const octets = 'HTTP/1.1 200 OK\r\nX-A: caf\xe9\r\nX-B: caf\xc3\xa9\r\n\r\n';
  const raw_header = Buffer.from(octets, 'latin1').toString('base64');
  expect(headersOf({ raw_header })).toEqual({ 'x-a': 'café', 'x-b': 'café' });
});

test('httpx without any header field has observed an empty set', () => {
  for (const keys of [head(), { raw_header: undefined, header: {} }]) expect(headersOf(keys)).toEqual({});
});

test('a line of httpx gives the scheme, status and address of the response, where it says them all', () => {
  expect(parseWith({}).response).toEqual(HTTPS);
  const line = { url: 'HTTP://example.com/', host: 'example.com', host_ip: '2001:DB8::07', status_code: 301 };
  expect(parseWith(line).response).toEqual({ scheme: 'http', status: 301, address: '2001:db8::7' });
  const missing = [{ host: 'example.com' }, { status_code: undefined }, { status_code: 1000 }];
  for (const keys of [...missing, { url: 'example.com' }])
    expect(parseWith(keys)).not.toHaveProperty('response');
});

test('a line of httpx gives nothing of DNS, which httpx queries for its own use only', () => {
  expect(Object.keys(parseWith({ a: ['192.0.2.7'], aaaa: [], cname: ['a.example'] }))).not.toContain('dns');
});

test('whatever fields a head has come out as an observer of the response would record them, and none of them is unknown', () => {
  const token = fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,8}$/);
  const name = fc.oneof(token, fc.constantFrom('__proto__', 'Content-Length', 'Trailer'));
  const value = fc.string({ unit: fc.constantFrom('a', ' ', '\t', ',', ':', '"', '<', 'é', '\u{1f600}') });
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value)), fc.constantFrom('\r\n', '\n'), (fields, end) => {
      const expected = new Map<string, string[]>();
      for (const [fieldName, text] of fields) addHeaderField(expected, fieldName, text);
      const lines = fields.map(([fieldName, text]) => `${fieldName}: ${text}`);
      const raw = ['HTTP/2.0 200 OK', ...lines, '', ''].join(end);
      for (const raw_header of [raw, Buffer.from(raw).toString('base64')]) {
        const { httpHeaders = [], ignoredHeaders } = parseWith({ raw_header });
        expect([...httpHeaders]).toEqual([...joinHeaderFields(expected)]);
        expect([...expected.keys()].filter((each) => ignoredHeaders?.has(each))).toEqual([]);
      }
    }),
    { numRuns: 300 },
  );
});

test('headers that are ignored, and "connection", which httpx requested, are in no form of httpx recorded, nor marked absent', () => {
  const parse = createHttpxParser(new Set([...IGNORED_HEADERS.keys(), 'x_under_score']));
  for (const keys of [{}, { raw_header: undefined, header: { ...HEADER, connection: 'close' } }]) {
    const { httpHeaders, ignoredHeaders } = observed(parse, httpxLine(keys));
    expect([...(httpHeaders?.keys() ?? [])]).toEqual(['content-length', 'content-type', 'server', 'via']);
    for (const name of ['date', 'set-cookie', 'x_under_score', 'connection'])
      expect(ignoredHeaders?.has(name)).toBe(true);
  }
});

test('headers that the client of httpx takes out of a response are recorded where they are, and unknown where not', () => {
  const taken = ['content-encoding', 'content-length', 'trailer', 'transfer-encoding'];
  expect(parseWith(head('Server: x')).ignoredHeaders).toEqual(alwaysIgnoring(taken));
  const all = parseWith(head(...taken.map((name) => `${name}: x`)));
  expect([...(all.httpHeaders?.keys() ?? [])]).toEqual(taken);
  expect(all.ignoredHeaders).toEqual(alwaysIgnoring([]));
});

test.each([
  ['https://example.com', 'example.com'],
  ['https://example.com/', 'example.com'],
  ['https://example.com:443', 'example.com'],
  ['http://example.com:80/', 'example.com'],
  ['HTTPS://EXAMPLE.com.', 'example.com'],
  ['https://bücher.example', 'xn--bcher-kva.example'],
  ['https://xn--a.example', 'xn--a.example'],
])('the domain is that of the requested front page: %s: %s', (url, domain) => {
  expect(parseWith({ url, input: undefined }).domain).toBe(domain);
  expect(parseWith({ url: undefined, input: url }).domain).toBe(domain);
});

test('the domain is that of the requested front page, whether it was listed as a name or as an address', () => {
  const all = 'example.com|EXAMPLE.COM.|*.example.com|.example.com| example.com |example.com:443'.split('|');
  for (const keys of all.flatMap((input) => [{ input }, { input, url: undefined }]))
    expect(parseWith(keys).domain, keys.input).toBe('example.com');
});

test.each<[HttpxKeys, string, string]>([
  [head('A: b', 'X Y: z'), 'x y', '"X Y" is not the name of a header field'],
  [head('A: b', 'X: caf\ufffd'), 'x', '"X": octets that were not UTF-8 are lost in "caf\ufffd"'],
  [{ raw_header: undefined, header: { a: 'b', server: 1 } }, 'server', '"server": it is not a string.'],
])('a header field that cannot be read costs its name alone, and is told: %j', (keys, name, reason) => {
  const { observations, remarks } = recordAll(httpxLine(keys), now);
  expect([...(observations[0]?.httpHeaders ?? [])]).toEqual([['a', 'b']]);
  // Nothing is known of it: it is not absent.
  expect(observations[0]?.ignoredHeaders?.has(name)).toBe(true);
  expect(remarks).toEqual([
    { text: 'A header field was left out that cannot be read.', example: expect.stringContaining(reason) },
  ]);
});

const noHeaders =
  'it has neither raw_header nor header: run httpx with -irh (-include-response-header), or with -irr ' +
  '(-include-response) for the exact names.';
const redirected =
  'httpx has followed redirects, and the headers are those of the last page: run it without -follow-redirects and -follow-host-redirects.';
const notFront = (key: string, address: string) =>
  `${key}: "${address}" is not the front page of a domain, such as https://example.org/: ` +
  'run httpx on names alone, without -p and -path.';
const OTHERS = 'https://example.com:8443 http://example.com:443 https://example.com/admin ftp://example.com/';

test.each<[HttpxKeys, string]>([
  [{ raw_header: undefined, header: undefined }, noHeaders],
  [HTTPX_FAILED, 'failed: httpx got no response; nothing was observed.'],
  [{ method: 'HEAD' }, 'method: it is not GET; run httpx without -x.'],
  [{ final_url: 'https://www.example.com/', chain_status_codes: [301, 200] }, redirected],
  [{ chain_status_codes: [301, 200] }, redirected],
  [{ url: undefined, input: undefined }, 'url: it is missing.'],
  [{ url: 1 }, 'url: it is not a string.'],
  [{ input: 1 }, 'input: it is not a string.'],
  [{ url: 'https://192.0.2.7' }, 'url: "192.0.2.7" is not a domain name: it is an IP address.'],
  [{ url: 'https://[2001:db8::7]:443/' }, 'url: "2001:db8::7" is not a domain name: it is an IP address.'],
  ...OTHERS.split(' ').map((url): [HttpxKeys, string] => [{ url }, notFront('url', url)]),
  [{ url: undefined, input: 'example.com:22' }, notFront('input', 'example.com:22')],
  [{ input: 'other.example' }, 'input: "other.example" is not of the domain in url, "example.com".'],
  [{ timestamp: undefined }, 'timestamp: it is missing.'],
  [{ raw_header: 1 }, 'raw_header: it is not a string.'],
  [{ raw_header: 'A: b\n' }, 'raw_header: it does not begin with a status line (RFC 9112, 4).'],
  [head('Server: x', 'nothing'), 'raw_header: field 2 has no colon after its name (RFC 9112, 5).'],
  [{ raw_header: undefined, header: 'HTTP/1.1 200 OK\r\n\r\n' }, 'header: it is not an object.'],
])('a rejected line of httpx has a reason that says what to do: %j: %s', (keys, reason) => {
  expect(() => parseWith(keys)).toThrow(new InvalidObservationError(reason));
});
