/** The keys of a line, by which a test says what it wants otherwise; undefined: left out. */
export type HttpxKeys = Readonly<Record<string, unknown>>;

/** The head of a response as httpx writes it: by Go, which sorts the names. */
export const RAW_HEADER =
  'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1256\r\nContent-Type: text/html; charset=UTF-8\r\n' +
  'Date: Fri, 01 Mar 2024 10:20:30 GMT\r\nServer: nginx\r\nVia: 1.1 a\r\nVia: 1.1 b\r\nX_under_score: 1\r\n\r\n';

/** The same fields under the key `header`. */
export const HEADER = {
  content_length: '1256',
  content_type: 'text/html; charset=UTF-8',
  date: 'Fri, 01 Mar 2024 10:20:30 GMT',
  server: 'nginx',
  via: '1.1 a, 1.1 b',
  x_under_score: '1',
};

const COMMON = {
  port: '443',
  title: 'Example Domain',
  scheme: 'https',
  content_type: 'text/html',
  method: 'GET',
  path: '/',
  header: HEADER,
  a: ['192.0.2.7'],
  status_code: 200,
  failed: false,
  knowledgebase: { PageType: 'nonerror', pHash: 0 },
};

/** A line of httpx 1.6 with -irr. */
const HTTPX_1_6: HttpxKeys = {
  ...COMMON,
  timestamp: '2024-03-01T15:50:30.123456789+05:30',
  url: 'https://example.com',
  input: 'example.com',
  webserver: 'nginx',
  body: '<!doctype html>\n<html></html>\n',
  host: '192.0.2.7',
  raw_header: RAW_HEADER,
  request: 'GET / HTTP/1.1\r\nHost: example.com\r\nAccept-Encoding: gzip\r\n\r\n',
  a: ['192.0.2.7', '192.0.2.8'],
  content_length: 1256,
};

/** A line of httpx 1.7 (1.7.3 and later: `host` is the name) with -irh. */
export const HTTPX_1_7: HttpxKeys = {
  ...COMMON,
  timestamp: '2025-12-06T22:22:11.061425+05:30',
  url: 'https://www.example.com',
  input: 'www.example.com',
  host: 'www.example.com',
  host_ip: '2001:db8::7',
  aaaa: ['2001:db8::7'],
  cname: ['www.example.com.edge.example'],
  content_length: 513,
  resolvers: ['192.0.2.53:53'],
};

/** A line of httpx 1.6.9 with -probe, of a site that it could not reach. */
export const HTTPX_FAILED: HttpxKeys = {
  timestamp: '2024-10-22T14:38:53.991241+03:00',
  url: 'http://unreachable.example',
  input: 'unreachable.example',
  error: 'errKind=network-permanent-error no address found for host',
  status_code: 0,
  content_length: 0,
  failed: true,
};

/** A line as httpx 1.6 writes it, with some keys otherwise. */
export function httpxLine(keys: HttpxKeys = {}): string {
  return JSON.stringify({ ...HTTPX_1_6, ...keys });
}
