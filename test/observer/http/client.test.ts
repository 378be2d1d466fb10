import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { constants, type ServerHttp2Stream } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createHttpClient, type HttpClientOptions } from '../../../src/observer/http/client.js';
import type { HttpAnswer } from '../../../src/observer/verdict.js';
import { EXPIRED_CERTIFICATE } from '../../support/web-certificate.js';
import {
  answersWith,
  type Behaviour,
  closes,
  greetsWith,
  resets,
  saysNothing,
  sendsForEver,
  trickles,
} from '../../support/web-hostile.js';
import {
  type OnStream,
  REJECTING_PORT,
  startHttp2Server,
  startHttpServer,
  startHttpsServer,
  startRawServer,
} from '../../support/web-server.js';
import { openStalledPort } from '../../support/web-stalled-port.js';

/** Long enough that no test meets it unless it sets a shorter one. */
const AMPLE = 60_000;

/** Real web servers, and one that does with each connection what `behave` says. */
let behave: Behaviour;
const [plain, secure] = [await startHttpServer(), await startHttpsServer()];
const raw = await startRawServer((socket) => behave(socket));
let onStream: OnStream;
const two = await startHttp2Server((stream, fields) => onStream(stream, fields));
afterAll(() => Promise.all([plain, secure, raw, two].map((server) => server.close())));

beforeEach(() => {
  behave = saysNothing;
  plain.serve({ fields: [['Server', 'plain']] });
  secure.serve({ fields: [['Server', 'secure']] });
});

/** The server, closed at the end of the test. */
async function kept<Kind extends { close(): Promise<void> }>(starting: Promise<Kind>): Promise<Kind> {
  const server = await starting;
  onTestFinished(() => server.close());
  return server;
}

interface Servers {
  readonly https?: { readonly port: number };
  readonly http?: { readonly port: number };
}

/** A client for which these are the ports of the schemes; the others reject connections. */
function clientOf({ https, http }: Servers, options: Partial<HttpClientOptions> = {}) {
  const client = createHttpClient({
    httpsPort: https?.port ?? REJECTING_PORT,
    httpPort: http?.port ?? REJECTING_PORT,
    timeout: AMPLE,
    userAgent: 'domain-metadata-service',
    ignoredHeaders: new Set(['date']),
    allowPrivate: true,
    connectionsPerAddress: 8,
    ...options,
  });
  const end = new AbortController();
  onTestFinished(() => end.abort());
  return {
    observe: (domain = 'a.example', addresses: readonly string[] = ['127.0.0.1'], signal = end.signal) =>
      client.observe(domain, addresses, signal),
  };
}

function look(servers: Servers, options: Partial<HttpClientOptions> = {}, addresses?: readonly string[]) {
  return clientOf(servers, options).observe('a.example', addresses);
}

/** Scheme and headers, or the code of the failure. */
function short(answer: HttpAnswer): unknown {
  if (answer.kind === 'failed') return answer.failure.code;
  return { [answer.scheme]: Object.fromEntries(answer.headers) };
}

const observe = async (...how: Parameters<typeof look>) => short(await look(...how));

/** What comes of it, while the HTTP server has no connection. */
async function withoutHttp(observing: Promise<HttpAnswer>): Promise<unknown> {
  const before = plain.connections;
  const answer = short(await observing);
  expect(plain.connections).toBe(before);
  return answer;
}

const NOT_FOUND = { kind: 'answered', scheme: 'https', address: '127.0.0.1', status: 404 };
const PLAIN = { http: { server: 'plain' } };
const HEAD = 'HTTP/1.1 200 OK\r\n';

/** A ServerHello of TLS 1.2 without a session, with a cipher that everyone offers. */
function serverHello(...extensions: readonly number[]): Buffer {
  const length = 38 + extensions.length;
  const head = Buffer.of(22, 3, 3, 0, length + 4, 2, 0, 0, length, 3, 3);
  return Buffer.concat([head, Buffer.alloc(32, 7), Buffer.of(0, 0xc0, 0x2f, 0, ...extensions)]);
}

/** By ALPN (RFC 7301, section 3.1), h2. */
const CHOOSES_HTTP2 = serverHello(0, 9, 0, 16, 0, 5, 0, 3, 2, 0x68, 0x32);

/** A TLS record with an alert (RFC 8446, section 6): 1 is a warning, 2 is fatal. */
function alert(level: number, description: number): Buffer {
  return Buffer.of(21, 3, 3, 0, 2, level, description);
}

describe('the front page of a domain', () => {
  test('is observed by HTTPS, as one request for it by its name', async () => {
    secure.serve({ status: 404, fields: [['Server', 'one']] });
    const answer = await look({ https: secure }, { userAgent: 'dms (+https://a.example/)' });
    expect(answer).toEqual({ ...NOT_FOUND, headers: new Map([['server', 'one']]) });
    const fields = [
      ['Host', `a.example:${secure.port}`],
      ['User-Agent', 'dms (+https://a.example/)'],
      ['Accept', '*/*'],
      ['Connection', 'close'],
    ];
    expect(secure.requests).toEqual([{ method: 'GET', path: '/', fields, serverName: 'a.example' }]);
  });

  test('is observed by HTTP where the HTTPS port rejects the connection', async () => {
    expect(await observe({ http: plain })).toEqual(PLAIN);
    expect(plain.requests.at(-1)).toMatchObject({ method: 'GET', path: '/', serverName: undefined });
  });

  test('is not observed where both ports reject it', async () => {
    expect(await observe({})).toBe('refused');
  });

  test.each<[string, Behaviour]>([
    ['HTTP', answersWith('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')],
    ['HTML without a head', answersWith('<html></html>')],
    ['what looks like a request', answersWith('GET / HTTP/1.1\r\n\r\n')],
    ['what looks like a request to a proxy', answersWith('CONNECT a.example:443 HTTP/1.1\r\n\r\n')],
    ['the greeting of SSH, before the request', greetsWith('SSH-2.0-OpenSSH_9.2p1\r\n')],
    ['zeros', answersWith(Buffer.alloc(64))],
    ['octets at random that begin as TLS', answersWith(Buffer.from('e70301c1aa0731b9f2c66d90', 'hex'))],
    ['TLS, but not for its name (unrecognized_name)', answersWith(alert(2, 112))],
    ['TLS, but not for its name (handshake_failure)', answersWith(alert(2, 40))],
    ['TLS, but not for it, after a warning', answersWith(Buffer.concat([alert(1, 112), alert(2, 40)]))],
  ])('is observed by HTTP where the HTTPS port speaks %s', async (_what, behaviour) => {
    behave = behaviour;
    expect(await observe({ https: raw, http: plain })).toEqual(PLAIN);
  });

  test.each<[string, Behaviour, string]>([
    ['says nothing', saysNothing, 'timeout'],
    ['closes the connection', closes, 'closed'],
    ['closes the connection at once', (socket) => socket.resume().end(), 'closed'],
    ['resets the connection', resets, 'closed'],
    ['closes after less than a record header', answersWith('HTT'), 'closed'],
    ['knows no such version', answersWith(Buffer.from('15030300020246', 'hex')), 'tls'],
    ['says goodbye in TLS', answersWith(Buffer.from('15030300020100', 'hex')), 'closed'],
    ['alerts after its ServerHello', answersWith(Buffer.concat([serverHello(), alert(2, 40)])), 'tls'],
    ['sends a broken handshake', answersWith(Buffer.from('16030300080200000401010101', 'hex')), 'tls'],
  ])('is not observed by HTTP instead where the HTTPS port %s', async (_what, behaviour, code) => {
    behave = behaviour;
    const timeout = code === 'timeout' ? 200 : AMPLE;
    expect(await withoutHttp(look({ https: raw, http: plain }, { timeout }))).toBe(code);
  });

  test('is observed at the next address where one does not respond', async () => {
    const stalled = await kept(openStalledPort('127.0.0.2'));
    await kept(startHttpsServer({ address: '127.0.0.3', port: stalled.port }));
    const answer = await look({ https: stalled }, { timeout: 3000 }, ['127.0.0.2', '127.0.0.3']);
    expect(answer).toMatchObject({ kind: 'answered', scheme: 'https', address: '127.0.0.3' });
  });

  test('is not observed where its only address does not respond, nor by HTTP', async () => {
    const stalled = await kept(openStalledPort('127.0.0.2'));
    const http = await kept(startHttpServer({ address: '127.0.0.2' }));
    expect(await observe({ https: stalled, http }, { timeout: 300 }, ['127.0.0.2'])).toBe('timeout');
    expect(http.connections).toBe(0);
  });

  test('says that HTTPS was declined where HTTP fails too, and only there', async () => {
    behave = closes;
    expect(await look({ http: raw })).toMatchObject({ failure: { code: 'closed' }, httpsDeclined: true });
    const alerting = await kept(startRawServer(answersWith(alert(2, 112))));
    expect(await look({ https: alerting, http: raw })).toMatchObject({ httpsDeclined: true });
    expect(await look({ https: raw })).not.toHaveProperty('httpsDeclined');
  });
});

describe('a site with bad TLS is observed nevertheless', () => {
  test.each([
    ['its certificate has expired and is for another name', { cert: EXPIRED_CERTIFICATE }],
    ['it speaks TLS 1.0 only', tlsOf('TLSv1')],
    ['it speaks TLS 1.2 only', tlsOf('TLSv1.2')],
    ['it speaks TLS 1.3 only', tlsOf('TLSv1.3')],
    ['it speaks only HTTP/1.1 in ALPN', { ALPNProtocols: ['http/1.1'] }],
  ])('%s', async (_what, tls) => {
    const https = await kept(startHttpsServer({}, tls));
    https.serve({ fields: [['Server', 'old']] });
    expect(await observe({ https })).toEqual({ https: { server: 'old' } });
  });

  test('but not one that wants a certificate of ours', async () => {
    const closed = await kept(startHttpsServer({}, { requestCert: true, rejectUnauthorized: true }));
    expect(['tls', 'closed']).toContain(await observe({ https: closed }));
  });
});

function tlsOf(version: 'TLSv1' | 'TLSv1.2' | 'TLSv1.3') {
  return { minVersion: version, maxVersion: version, ciphers: 'DEFAULT@SECLEVEL=0' } as const;
}

describe('a site that speaks HTTP/2 alone', () => {
  const OK = { ':status': 200 };
  const hintsOften = (stream: ServerHttp2Stream) => {
    for (let at = 0; at < 11; at += 1) stream.additionalHeaders({ ':status': 103 });
  };
  const responds =
    (fields: Readonly<Record<string, string | readonly string[]>>): OnStream =>
    (stream) => {
      stream.respond({ ...OK, ...fields } as const);
      stream.end('not read');
    };

  test('is observed by one request for it by its name', async () => {
    const seen: (readonly string[])[] = [];
    const before = two.connections;
    onStream = (stream, fields) => {
      seen.push(fields);
      responds({ ':status': '404', server: 'two' })(stream, fields);
    };
    const answer = await clientOf({ https: two }, { userAgent: 'dms' }).observe('xn--a.example');
    expect(answer).toEqual({ ...NOT_FOUND, headers: new Map([['server', 'two']]) });
    const request = [':path', '/', ':scheme', 'https', ':authority', `xn--a.example:${two.port}`];
    expect(seen).toEqual([expect.arrayContaining([...request, 'user-agent', 'dms', 'accept', '*/*'])]);
    expect(two.connections - before).toBe(2);
    await two.idle();
  });

  test('is observed where it chooses HTTP/2 though that is not offered', async () => {
    onStream = responds({ server: 'two' });
    let isFirst = true;
    behave = (socket) => {
      const real = connect(two.port, two.address);
      socket.once('close', () => real.destroy());
      if (isFirst) answersWith(CHOOSES_HTTP2)(socket);
      else socket.pipe(real).pipe(socket);
      isFirst = false;
    };
    expect(await observe({ https: raw })).toMatchObject({ https: { server: 'two' } });
  });

  test('has the fields that it would have by HTTP/1.1: joined, as text, without the ignored ones', async () => {
    const city = Buffer.from('Zürich').toString('latin1');
    onStream = (stream, fields) => {
      stream.additionalHeaders({ ':status': 103, link: '</early>' });
      responds({ link: ['</a>', '</b>'], 'x-empty': '', date: 'now', 'x-city': city })(stream, fields);
    };
    expect(await observe({ https: two })).toEqual({
      https: { link: '</a>, </b>', 'x-empty': '', 'x-city': 'Zürich' },
    });
  });

  test.each([
    [4000, 4000],
    [5000, 'too-large'],
  ])('has all fields that fit into 64 kB, and no more: of %i %s', async (count, expected) => {
    const names = Array.from({ length: count }, (_field, at) => [`x-${at}`, String(at)]);
    onStream = responds(Object.fromEntries(names));
    const answer = await look({ https: two });
    expect(answer.kind === 'answered' ? answer.headers.size : answer.failure.code).toBe(expected);
  });

  test('is not waited for longer than any other, nor read beyond its head', async () => {
    onStream = () => undefined;
    expect(await observe({ https: two }, { timeout: 300 })).toBe('timeout');
    await two.idle();
    const endless = await kept(
      startHttp2Server((stream) => {
        stream.respond(OK);
        const pour = () => stream.write('x'.repeat(10_000), (error) => error ?? pour());
        pour();
      }),
    );
    expect(await observe({ https: endless })).toEqual({ https: {} });
  });

  test.each<[string, (stream: ServerHttp2Stream) => void, string]>([
    ['resets the stream', (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR), 'malformed'],
    ['closes the connection', (stream) => stream.session?.destroy(), 'closed'],
    ['sends eleven interim responses', hintsOften, 'too-large'],
  ])('is not observed where it %s', async (_what, streaming, code) => {
    onStream = streaming;
    expect(await withoutHttp(look({ https: two, http: plain }))).toBe(code);
    await two.idle();
  });

  test.each([
    ['h2', 'closed'],
    ['h3', 'tls'],
  ])('but offers it without speaking it, or another, is not observed: %s', async (protocol, code) => {
    const https = await kept(startHttpsServer({}, { ALPNProtocols: [protocol] }));
    expect(await observe({ https })).toBe(code);
  });
});

test('the headers of the final response are observed, after ten interim ones, and all that fit into 64 kB', async () => {
  behave = answersWith(`${interim(10)}${HEAD}${fields(4000)}\r\n`);
  const answer = await look({ http: raw });
  expect(answer.kind === 'answered' && [answer.headers.size, answer.headers.get('x-7')]).toEqual([4000, '7']);
});

function interim(count: number): string {
  return 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(count);
}

function fields(count: number): string {
  return Array.from({ length: count }, (_field, at) => `X-${at}: ${at}\r\n`).join('');
}

const MEGABYTE = 'x'.repeat(1_000_000);

describe('an unusable response is a failure', () => {
  test.each<[string, Behaviour, string]>([
    ['eleven interim responses', answersWith(`${interim(11)}${HEAD}\r\n`), 'too-large'],
    ['50,000 fields', answersWith(`${HEAD}${fields(50_000)}\r\n`), 'too-large'],
    ['1 MB in one value', answersWith(`${HEAD}X: ${MEGABYTE}\r\n\r\n`), 'too-large'],
    ['1 MB in the status line', answersWith(`HTTP/1.1 200 ${MEGABYTE}\r\n\r\n`), 'too-large'],
    ['1 MB in an interim response', answersWith(`HTTP/1.1 103 X\r\nX: ${MEGABYTE}\r\n\r\n`), 'too-large'],
    ['fields for ever', sendsForEver(HEAD, 'X: y\r\n'), 'too-large'],
    ['interim responses for ever', sendsForEver('', interim(1)), 'too-large'],
    ['empty lines for ever', sendsForEver('', '\r\n'), 'timeout'],
    ['an octet now and then', trickles(`${HEAD}X: `, 'x', 20), 'timeout'],
    ['an interim response and nothing more', trickles(interim(1), '', 1000), 'timeout'],
    ['nothing', saysNothing, 'timeout'],
    ['the end of the connection', closes, 'closed'],
    ['a reset', resets, 'closed'],
  ])('%s', async (_what, behaviour, code) => {
    behave = behaviour;
    expect(await observe({ http: raw }, { timeout: code === 'timeout' ? 300 : AMPLE })).toBe(code);
    await raw.idle();
  });
});

test('a body is not waited for: a compressed bomb is cut off before it is sent', async () => {
  const bomb = gzipSync(Buffer.alloc(1 << 20));
  const pieces = 64 * 1024;
  let sent = 0;
  const sendBomb = async (socket: Socket) => {
    await once(socket, 'data');
    const length = pieces * bomb.length;
    socket.write(`${HEAD}Content-Encoding: gzip\r\nContent-Length: ${length}\r\n\r\n`);
    while (sent < pieces && !socket.destroyed) {
      sent += 1;
      await new Promise((resolve) => socket.write(bomb, resolve));
    }
  };
  behave = (socket) => void sendBomb(socket);
  expect(await observe({ http: raw })).toMatchObject({ http: { 'content-encoding': 'gzip' } });
  await raw.idle();
  expect(sent).toBeLessThan(pieces);
});

describe('the guard', () => {
  test.each([
    ...['127.0.0.1', '10.0.0.1', '169.254.169.254', '0.0.0.0', '::1', '::ffff:10.0.0.1', '::127.0.0.1'],
    ...['64:ff9b::127.0.0.1', '2002:7f00:1::'],
  ])('rejects %s before there is a socket for it, at every port', async (address) => {
    const opened = vi.fn();
    subscribe('net.client.socket', opened);
    onTestFinished(() => void unsubscribe('net.client.socket', opened));
    const failure = { code: 'private-address', message: `${address} is not a public address` };
    const answer = await look({ https: secure, http: plain }, { allowPrivate: false }, [address]);
    expect(answer).toEqual({ kind: 'failed', failure });
    expect(opened).not.toHaveBeenCalled();
  });

  test.each([
    ['a domain that is an address: no lookup would see it', '127.0.0.1', ['127.0.0.1']],
    ['a domain that is an IPv6 address', '::1', ['127.0.0.1']],
    ['a domain without an address', 'a.example', []],
    ['a domain with what is no address', 'a.example', ['', 'a.example', '1.2.3']],
  ])('connects to nothing for %s', async (_what, domain, addresses) => {
    const observing = clientOf({ http: plain }).observe(domain, addresses);
    expect(await withoutHttp(observing)).toBe('no-address');
  });

  test('connects to the address given and nowhere else: no name is resolved', async () => {
    const http = await kept(startHttpServer({ address: '127.0.0.2', port: plain.port }));
    await withoutHttp(clientOf({ http }).observe('localhost', ['127.0.0.2']));
    expect(http.connections).toBe(1);
  });

  test('follows no redirect: it is a header like any other', async () => {
    const elsewhere = await kept(startHttpServer());
    for (const location of ['http://169.254.169.254/', `http://127.0.0.1:${elsewhere.port}/`]) {
      plain.serve({ status: 302, fields: [['Location', location]] });
      const answer = await look({ http: plain });
      expect(answer).toMatchObject({ status: 302, headers: new Map([['location', location]]) });
    }
    expect(elsewhere.connections).toBe(0);
  });
});

describe('an observation that is stopped', () => {
  test.each(['https', 'http'] as const)('while it waits for the server ends at once: %s', async (scheme) => {
    const controller = new AbortController();
    behave = (socket) => socket.once('data', () => controller.abort());
    const answer = await clientOf({ [scheme]: raw }).observe(undefined, undefined, controller.signal);
    expect(short(answer)).toBe('stopped');
    await raw.idle();
  });

  test('while it waits for a connection leaves the others alone', async () => {
    const controller = new AbortController();
    behave = (socket) => {
      answersWith(`${HEAD}\r\n`)(socket);
      socket.once('data', () => controller.abort());
    };
    const client = clientOf({ http: raw }, { connectionsPerAddress: 1 });
    const first = client.observe('a.example');
    const second = client.observe('b.example', undefined, controller.signal);
    expect(short(await second)).toBe('stopped');
    expect(short(await first)).toEqual({ http: {} });
    expect(short(await client.observe('c.example'))).toEqual({ http: {} });
  });
});

describe('the connections to one address', () => {
  const observeAll = (client: ReturnType<typeof clientOf>, count: number) =>
    Promise.all(Array.from({ length: count }, (_, at) => client.observe(`${at}.example`)));

  test('are limited, and what waits gets one in the end', async () => {
    const limit = 3;
    const underWay = new Set<Socket>();
    let most = 0;
    behave = (socket) =>
      socket.once('data', () => {
        underWay.add(socket);
        most = Math.max(most, underWay.size);
        if (underWay.size < limit) return;
        // Answered from here on are only as many as come: the next ones have to come first.
        for (const held of underWay) held.end(`${HEAD}\r\n`);
        underWay.clear();
      });
    const answers = await observeAll(clientOf({ http: raw }, { connectionsPerAddress: limit }), 4 * limit);
    expect(answers.map(short)).toEqual(answers.map(() => ({ http: {} })));
    expect(most).toBe(limit);
  });

  test('are not waited for once the address is known not to respond', async () => {
    const before = raw.connections;
    const client = clientOf({ http: raw }, { connectionsPerAddress: 4, timeout: 300 });
    const answers = await observeAll(client, 100);
    expect(new Set(answers.map(short))).toEqual(new Set(['timeout']));
    // Eight make it a silent address; three more may be under way by then.
    expect(raw.connections - before).toBeLessThanOrEqual(11);
  });

  test('do not use up the time of what waits for one', async () => {
    let isFirst = true;
    behave = (socket) => {
      (isFirst ? saysNothing : answersWith(`${HEAD}\r\n`))(socket);
      isFirst = false;
    };
    const answers = await observeAll(clientOf({ http: raw }, { connectionsPerAddress: 1, timeout: 1000 }), 2);
    expect(answers.map(short)).toEqual(['timeout', { http: {} }]);
  });
});

test('a client keeps no socket and no timer of what it has observed', async () => {
  behave = closes;
  const client = clientOf({ https: raw, http: plain });
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  for (let at = 0; at < 50; at += 1) await client.observe();
  await Promise.all([plain.idle(), raw.idle()]);
  expect(timers() - before).toBeLessThan(25);
});
