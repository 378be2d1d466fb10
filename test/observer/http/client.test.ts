import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { constants, type ServerHttp2Stream } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  createHttpClient,
  type HttpAnswer,
  type HttpClient,
  type HttpClientOptions,
} from '../../../src/observer/http/client.js';
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
  type LoopbackServer,
  REJECTING_PORT,
  startHttp2Server,
  startHttpServer,
  startHttpsServer,
  startRawServer,
} from '../../support/web-server.js';
import { openStalledPort } from '../../support/web-stalled-port.js';

/** Long enough that no test meets it unless it sets a shorter one. */
const AMPLE = 60_000;

function clientOf(options: Partial<HttpClientOptions>): HttpClient {
  const client = createHttpClient({
    httpsPort: REJECTING_PORT,
    httpPort: REJECTING_PORT,
    timeout: AMPLE,
    userAgent: 'domain-metadata-service',
    ignoredHeaders: new Set(['date']),
    allowPrivate: true,
    connectionsPerAddress: 8,
    ...options,
  });
  const end = new AbortController();
  onTestFinished(() => end.abort());
  return { observe: (domain, addresses, signal = end.signal) => client.observe(domain, addresses, signal) };
}

/** The server, closed at the end of the test. */
async function kept<Kind extends { close(): Promise<void> }>(starting: Promise<Kind>): Promise<Kind> {
  const server = await starting;
  onTestFinished(() => server.close());
  return server;
}

/** The answer in short: scheme and headers, or the code of the failure. */
function short(answer: HttpAnswer): unknown {
  if (answer.kind === 'failed') return answer.failure.code;
  return { [answer.scheme]: Object.fromEntries(answer.headers) };
}

async function observe(
  servers: { https?: LoopbackServer; http?: LoopbackServer },
  options: Partial<HttpClientOptions> = {},
): Promise<unknown> {
  const ports = { httpsPort: servers.https?.port, httpPort: servers.http?.port };
  const client = clientOf({
    httpsPort: ports.httpsPort ?? REJECTING_PORT,
    httpPort: ports.httpPort ?? REJECTING_PORT,
    ...options,
  });
  return short(await client.observe('a.example', ['127.0.0.1']));
}

const HEAD = 'HTTP/1.1 200 OK\r\n';

/** A ServerHello of TLS 1.2 with the extension ALPN (RFC 7301, section 3.1) for h2. */
const CHOOSES_HTTP2 = Buffer.concat([
  Buffer.of(22, 3, 3, 0, 53, 2, 0, 0, 49, 3, 3),
  Buffer.alloc(32, 7),
  Buffer.of(0, 0xc0, 0x2f, 0, 0, 9, 0, 16, 0, 5, 0, 3, 2, 0x68, 0x32),
]);

/** A TLS record with an alert (RFC 8446, section 6): 1 is a warning, 2 is fatal. */
function alert(level: number, description: number): Buffer {
  return Buffer.of(21, 3, 3, 0, 2, level, description);
}

/** Of TLS 1.2 without session and extensions; with a cipher that everyone offers. */
const SERVER_HELLO = Buffer.concat([
  Buffer.of(22, 3, 3, 0, 42, 2, 0, 0, 38, 3, 3),
  Buffer.alloc(32, 7),
  Buffer.of(0, 0xc0, 0x2f, 0),
]);

describe('the front page of a domain', () => {
  test('is observed by HTTPS, as one request for it by its name', async () => {
    const server = await kept(startHttpsServer());
    server.serve({ status: 404, fields: [['Server', 'one']] });
    const client = clientOf({ httpsPort: server.port, userAgent: 'dms (+https://a.example/)' });
    expect(await client.observe('a.example', ['127.0.0.1'])).toEqual({
      kind: 'answered',
      scheme: 'https',
      address: '127.0.0.1',
      status: 404,
      headers: new Map([['server', 'one']]),
    });
    const fields = [
      ['Host', `a.example:${server.port}`],
      ['User-Agent', 'dms (+https://a.example/)'],
      ['Accept', '*/*'],
      ['Connection', 'close'],
    ];
    expect(server.requests).toEqual([{ method: 'GET', path: '/', fields, serverName: 'a.example' }]);
  });

  test('is observed by HTTP where the HTTPS port rejects the connection', async () => {
    const http = await kept(startHttpServer());
    http.serve({ fields: [['Server', 'plain']] });
    expect(await observe({ http })).toEqual({ http: { server: 'plain' } });
    expect(http.requests).toMatchObject([{ method: 'GET', path: '/', serverName: undefined }]);
  });

  test('is not observed where both ports reject it', async () => {
    expect(await observe({})).toBe('refused');
  });

  test.each<[string, Behaviour]>([
    ['HTTP', answersWith('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')],
    ['HTML without a head', answersWith('<html></html>')],
    ['what observations like a request', answersWith('GET / HTTP/1.1\r\n\r\n')],
    ['what observations like a request to a proxy', answersWith('CONNECT a.example:443 HTTP/1.1\r\n\r\n')],
    ['the greeting of SSH, before the request', greetsWith('SSH-2.0-OpenSSH_9.2p1\r\n')],
    ['the greeting of SMTP, before the request', greetsWith('220 mail.example ESMTP\r\n')],
    ['zeros', answersWith(Buffer.alloc(64))],
    ['octets at random', answersWith(Buffer.from('8f1c5de0aa0731b9f2c66d90', 'hex'))],
    ['octets at random that begin as TLS', answersWith(Buffer.from('e70301c1aa0731b9f2c66d90', 'hex'))],
    ['TLS, but not for its name (unrecognized_name)', answersWith(alert(2, 112))],
    ['TLS, but not for its name (handshake_failure)', answersWith(alert(2, 40))],
    ['TLS, but not for its name (internal_error)', answersWith(alert(2, 80))],
    [
      'TLS, but not for its name (after a warning)',
      answersWith(Buffer.concat([alert(1, 112), alert(2, 40)])),
    ],
  ])('is observed by HTTP where the HTTPS port speaks %s', async (_what, behaviour) => {
    const https = await kept(startRawServer(behaviour));
    const http = await kept(startHttpServer());
    http.serve({ fields: [['Server', 'plain']] });
    expect(await observe({ https, http })).toEqual({ http: { server: 'plain' } });
  });

  test.each<[string, Behaviour, string]>([
    ['says nothing', saysNothing, 'timeout'],
    ['closes the connection', closes, 'closed'],
    ['closes the connection at once', (socket) => socket.end(), 'closed'],
    ['resets the connection', resets, 'closed'],
    ['resets the connection at once', (socket) => socket.resetAndDestroy(), 'closed'],
    ['closes after less than a record header', answersWith('HTT'), 'closed'],
    ['knows no such version', answersWith(Buffer.from('15030300020246', 'hex')), 'tls'],
    ['says goodbye in TLS', answersWith(Buffer.from('15030300020100', 'hex')), 'closed'],
    [
      'sends such an alert after its ServerHello',
      answersWith(Buffer.concat([SERVER_HELLO, alert(2, 40)])),
      'tls',
    ],
    ['sends a broken handshake', answersWith(Buffer.from('16030300080200000401010101', 'hex')), 'tls'],
  ])('is not observed by HTTP instead where the HTTPS port %s', async (_what, behaviour, code) => {
    const https = await kept(startRawServer(behaviour));
    const http = await kept(startHttpServer());
    expect(await observe({ https, http }, { timeout: code === 'timeout' ? 200 : AMPLE })).toBe(code);
    expect(http.connections).toBe(0);
  });

  test('is observed by HTTP where a server has no certificate for it', async () => {
    const https = await kept(startHttpsServer({}, { cert: undefined, key: undefined }));
    const http = await kept(startHttpServer());
    http.serve({ fields: [['Server', 'plain']] });
    expect(await observe({ https, http })).toEqual({ http: { server: 'plain' } });
    expect(https.connections).toBe(1);
  });

  test('is observed at the next address where one does not respond', async () => {
    const stalled = await kept(openStalledPort('127.0.0.2'));
    const server = await kept(startHttpsServer({ address: '127.0.0.3', port: stalled.port }));
    server.serve({ fields: [['Server', 'three']] });
    const client = clientOf({ httpsPort: stalled.port, timeout: 3000 });
    const answer = await client.observe('a.example', ['127.0.0.2', '127.0.0.3']);
    expect(answer).toMatchObject({ kind: 'answered', scheme: 'https', address: '127.0.0.3' });
  });

  test('is not observed where its only address does not respond, nor by HTTP', async () => {
    const stalled = await kept(openStalledPort('127.0.0.2'));
    const http = await kept(startHttpServer({ address: '127.0.0.2' }));
    const client = clientOf({ httpsPort: stalled.port, httpPort: http.port, timeout: 300 });
    expect(short(await client.observe('a.example', ['127.0.0.2']))).toBe('timeout');
    expect(http.connections).toBe(0);
  });

  test.each<[string, Behaviour]>([
    ['resets the connection', resets],
    ['resets the connection at once', (socket) => socket.resetAndDestroy()],
    ['closes the connection', closes],
    ['speaks no TLS', answersWith('HTTP/1.1 400 Bad Request\r\n\r\n')],
  ])('is observed at the next address where one %s', async (_what, behaviour) => {
    const first = await kept(startRawServer(behaviour, { address: '127.0.0.2' }));
    await kept(startHttpsServer({ address: '127.0.0.3', port: first.port }));
    const http = await kept(startHttpServer({ address: '127.0.0.2' }));
    const client = clientOf({ httpsPort: first.port, httpPort: http.port });
    const answer = await client.observe('a.example', ['127.0.0.2', '127.0.0.3']);
    expect(answer).toMatchObject({ kind: 'answered', scheme: 'https', address: '127.0.0.3' });
    expect(http.connections).toBe(0);
  });

  test('is observed by HTTP at the next address where one resets before the end of the head', async () => {
    const first = await kept(startRawServer(resets, { address: '127.0.0.2' }));
    await kept(startHttpServer({ address: '127.0.0.3', port: first.port }));
    const answer = await clientOf({ httpPort: first.port }).observe('a.example', ['127.0.0.2', '127.0.0.3']);
    expect(answer).toMatchObject({ kind: 'answered', scheme: 'http', address: '127.0.0.3' });
  });

  test('is not observed by HTTP where one address rejects HTTPS and another resets it', async () => {
    const https = await kept(startRawServer(resets, { address: '127.0.0.2' }));
    // At the same address, so that it cannot have the port that the other one is to reject.
    const http = await kept(startHttpServer({ address: '127.0.0.2' }));
    const client = clientOf({ httpsPort: https.port, httpPort: http.port });
    const answer = await client.observe('a.example', ['127.0.0.2', '127.0.0.3']);
    const message = `127.0.0.2:${https.port} closed the connection during the TLS handshake`;
    expect(answer).toEqual({ kind: 'failed', failure: { code: 'closed', message }, obstacle: 'closed' });
    expect(http.connections).toBe(0);
  });

  test('says that HTTPS was declined where HTTP fails too, and only there', async () => {
    const http = await kept(startRawServer(closes));
    const client = clientOf({ httpPort: http.port });
    const declined = await client.observe('a.example', ['127.0.0.1']);
    expect(declined).toMatchObject({ failure: { code: 'closed' }, httpsDeclined: true });
    const alerting = await kept(startRawServer(answersWith(alert(2, 112))));
    const byAlert = clientOf({ httpsPort: alerting.port, httpPort: http.port });
    expect(await byAlert.observe('a.example', ['127.0.0.1'])).toMatchObject({ httpsDeclined: true });
    const reset = await clientOf({ httpsPort: http.port }).observe('a.example', ['127.0.0.1']);
    expect(reset).not.toHaveProperty('httpsDeclined');
  });

  test('is observed at the next address where one rejects, by the scheme that it has there', async () => {
    const http = await kept(startHttpServer({ address: '127.0.0.3' }));
    const https = await kept(startHttpsServer({ address: '127.0.0.3' }));
    const ports = { httpsPort: https.port, httpPort: http.port };
    const answer = await clientOf(ports).observe('a.example', ['127.0.0.2', '127.0.0.3']);
    expect(answer).toMatchObject({ scheme: 'https', address: '127.0.0.3' });
    expect(http.connections).toBe(0);
  });
});

describe('a site with bad TLS is observed nevertheless', () => {
  test.each([
    ['its certificate has expired and is for another name', { cert: EXPIRED_CERTIFICATE }],
    ['it speaks TLS 1.0 only', tlsOf('TLSv1')],
    ['it speaks TLS 1.1 only', tlsOf('TLSv1.1')],
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

function tlsOf(version: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3') {
  return { minVersion: version, maxVersion: version, ciphers: 'DEFAULT@SECLEVEL=0' } as const;
}

describe('a site that speaks HTTP/2 alone', () => {
  const OK = { ':status': 200 };

  test('is observed by one request for it by its name', async () => {
    const seen: (readonly string[])[] = [];
    const https = await kept(
      startHttp2Server((stream, fields) => {
        seen.push(fields);
        stream.respond({ ':status': 404, server: 'two' });
        stream.end('not read');
      }),
    );
    const client = clientOf({ httpsPort: https.port, userAgent: 'dms' });
    expect(await client.observe('xn--a.example', ['127.0.0.1'])).toEqual({
      kind: 'answered',
      scheme: 'https',
      address: '127.0.0.1',
      status: 404,
      headers: new Map([['server', 'two']]),
    });
    const request = [':path', '/', ':scheme', 'https', ':authority', `xn--a.example:${https.port}`];
    expect(seen).toEqual([expect.arrayContaining([...request, 'user-agent', 'dms', 'accept', '*/*'])]);
    expect(https.connections).toBe(2);
    await https.idle();
  });

  test('is observed where it chooses HTTP/2 though that is not offered', async () => {
    const real = await kept(
      startHttp2Server((stream) => {
        stream.respond({ ...OK, server: 'two' });
        stream.end();
      }),
    );
    let isFirst = true;
    const https = await kept(
      startRawServer((socket) => {
        if (isFirst) answersWith(CHOOSES_HTTP2)(socket);
        else socket.pipe(connect(real.port, real.address)).pipe(socket);
        isFirst = false;
      }),
    );
    expect(await observe({ https })).toMatchObject({ https: { server: 'two' } });
  });

  test('has the fields that it would have by HTTP/1.1: joined, as text, without the ignored ones', async () => {
    const https = await kept(
      startHttp2Server((stream) => {
        const fields = { link: ['</a>', '</b>'], 'content-type': 'text/html', 'x-empty': '', date: 'now' };
        stream.additionalHeaders({ ':status': 103, link: '</early>' });
        stream.respond({ ...OK, ...fields, 'x-city': Buffer.from('Zürich').toString('latin1') });
        stream.end();
      }),
    );
    expect(await observe({ https })).toEqual({
      https: { link: '</a>, </b>', 'content-type': 'text/html', 'x-empty': '', 'x-city': 'Zürich' },
    });
  });

  test('has all fields that fit into 64 kB, and no more', async () => {
    let count = 4000;
    const https = await kept(
      startHttp2Server((stream) => {
        const names = Array.from({ length: count }, (_field, at) => [`x-${at}`, String(at)]);
        stream.respond({ ...OK, ...Object.fromEntries(names) });
        stream.end();
      }),
    );
    const client = clientOf({ httpsPort: https.port });
    const answer = await client.observe('a.example', ['127.0.0.1']);
    expect(answer.kind === 'answered' && answer.headers.size).toBe(4000);
    for (count of [5000, 20_000]) {
      expect(short(await client.observe('a.example', ['127.0.0.1']))).toBe('too-large');
    }
  });

  test('is not waited for longer than any other, nor read beyond its head', async () => {
    const https = await kept(startHttp2Server(() => undefined));
    expect(await observe({ https }, { timeout: 300 })).toBe('timeout');
    await https.idle();
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
    [
      'sends eleven interim responses',
      (stream) => {
        for (let at = 0; at < 11; at += 1) stream.additionalHeaders({ ':status': 103 });
      },
      'too-large',
    ],
  ])('is not observed where it %s', async (_what, onStream, code) => {
    const https = await kept(startHttp2Server(onStream));
    const http = await kept(startHttpServer());
    expect(await observe({ https, http })).toBe(code);
    expect(http.connections).toBe(0);
    await https.idle();
  });

  test('is not connected to where its address is not public', async () => {
    const https = await kept(startHttp2Server((stream) => stream.respond(OK)));
    expect(await observe({ https }, { allowPrivate: false })).toBe('private-address');
    expect(https.connections).toBe(0);
  });

  test('and does not is not observed', async () => {
    const https = await kept(startHttpsServer({}, { ALPNProtocols: ['h2'] }));
    expect(await observe({ https })).toBe('closed');
    const neither = await kept(startHttpsServer({}, { ALPNProtocols: ['h3'] }));
    expect(await observe({ https: neither })).toBe('tls');
  });
});

describe('the headers that are observed', () => {
  test('are joined where a name comes several times, and without the ignored ones', async () => {
    const http = await kept(startHttpServer());
    http.serve({
      fields: [
        ['Via', '1.1 a'],
        ['Date', 'Sat, 01 Jan 2000 00:00:00 GMT'],
        ['Link', '</a>; rel=preload'],
        ['VIA', '1.1 b \t'],
        ['X-Empty', ''],
      ],
    });
    expect(await observe({ http })).toEqual({
      http: { via: '1.1 a, 1.1 b', link: '</a>; rel=preload', 'x-empty': '' },
    });
  });

  test('are new at the next observation when the site has changed', async () => {
    const http = await kept(startHttpServer());
    http.serve({ fields: [['Server', 'one']] });
    expect(await observe({ http })).toEqual({ http: { server: 'one' } });
    http.serve({ fields: [['Server', 'two']] });
    expect(await observe({ http })).toEqual({ http: { server: 'two' } });
  });

  test('are text where they are not ASCII: UTF-8, or else ISO 8859-1', async () => {
    const http = await kept(startHttpServer());
    const utf8 = Buffer.from('Zürich 🦊').toString('latin1');
    http.serve({
      fields: [
        ['X-City', utf8],
        ['X-Place', 'caf\u00e9'],
      ],
    });
    expect(await observe({ http })).toEqual({ http: { 'x-city': 'Zürich 🦊', 'x-place': 'café' } });
  });

  test('are those of the final response: ten interim ones before it are skipped', async () => {
    const http = await kept(startRawServer(answersWith(`${interim(10)}${HEAD}Server: x\r\n\r\n`)));
    expect(await observe({ http })).toEqual({ http: { server: 'x' } });
  });

  test('are all that fit into 64 kB', async () => {
    const http = await kept(startRawServer(answersWith(`${HEAD}${fields(4000)}\r\n`)));
    const answer = await clientOf({ httpPort: http.port }).observe('a.example', ['127.0.0.1']);
    expect(answer.kind === 'answered' && answer.headers.size).toBe(4000);
  });

  test.each([
    ['offers another protocol', `${HEAD}Connection: Upgrade\r\nUpgrade: h2,h2c\r\n\r\n`],
    ['is by HTTP/1.0', 'HTTP/1.0 200 OK\r\nServer: x\r\n\r\n'],
    ['has no reason phrase', 'HTTP/1.1 200\r\nServer: x\r\n\r\n'],
    ['has no body', 'HTTP/1.1 304 Not Modified\r\nServer: x\r\n\r\n'],
    ['has a broken body', `${HEAD}Transfer-Encoding: chunked\r\n\r\nno chunk`],
  ])('are taken from a response that %s', async (_what, octets) => {
    const http = await kept(startRawServer(answersWith(octets)));
    expect(await observe({ http })).toHaveProperty('http');
  });

  test('keep their names where a name is one that JavaScript uses', async () => {
    const http = await kept(startHttpServer());
    http.serve({
      fields: [
        ['__proto__', 'x'],
        ['constructor', 'y'],
      ],
    });
    const answer = await clientOf({ httpPort: http.port }).observe('a.example', ['127.0.0.1']);
    expect(answer.kind === 'answered' && [...answer.headers]).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ]);
  });
});

function interim(count: number): string {
  return 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(count);
}

function fields(count: number): string {
  return Array.from({ length: count }, (_field, at) => `X-${at}: ${at}\r\n`).join('');
}

describe('an unusable response is a failure', () => {
  test.each([
    ['a hundred interim responses', `${interim(100)}${HEAD}\r\n`, 'too-large'],
    ['eleven interim responses', `${interim(11)}${HEAD}\r\n`, 'too-large'],
    ['50,000 fields', `${HEAD}${fields(50_000)}\r\n`, 'too-large'],
    ['1 MB of fields', `${HEAD}${`X: ${'x'.repeat(1000)}\r\n`.repeat(1000)}\r\n`, 'too-large'],
    ['1 MB in one value', `${HEAD}X: ${'x'.repeat(1_000_000)}\r\n\r\n`, 'too-large'],
    ['1 MB in one name', `${HEAD}${'x'.repeat(1_000_000)}: x\r\n\r\n`, 'too-large'],
    ['1 MB in the status line', `HTTP/1.1 200 ${'x'.repeat(1_000_000)}\r\n\r\n`, 'too-large'],
    ['1 MB in an interim response', `HTTP/1.1 103 X\r\nX: ${'x'.repeat(1_000_000)}\r\n\r\n`, 'too-large'],
    ['no status line', '<html><body>hello</body></html>\r\n', 'malformed'],
    ['the greeting of SSH', 'SSH-2.0-OpenSSH_9.2p1\r\n', 'malformed'],
    ['octets at random', '\x8f\x1c\x5d\xe0\xaa\x07\x31\xb9\xf2\xc6\x6d\x90', 'malformed'],
    ['HTTP/0.9', 'HTTP/0.9 200 OK\r\n\r\n', 'malformed'],
    ['HTTP/2', 'HTTP/2.0 200 OK\r\n\r\n', 'malformed'],
    ['a switch of protocols', 'HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n', 'malformed'],
    ['a switch to no protocol', 'HTTP/1.1 101 X\r\nServer: x\r\n\r\n', 'malformed'],
    ['a status of 099', 'HTTP/1.1 099 X\r\nServer: x\r\n\r\n', 'malformed'],
    ['a status of 1000', 'HTTP/1.1 1000 X\r\n\r\n', 'malformed'],
    ['NUL in a value', `${HEAD}X: a\0b\r\n\r\n`, 'malformed'],
    ['a name of 2,000 characters', `${HEAD}${'x'.repeat(2000)}: y\r\n\r\n`, 'malformed'],
    ['half a status line', 'HTTP/1.1 2', 'closed'],
    ['half a head', `${HEAD}Server: x`, 'closed'],
    ['interim responses only', interim(3), 'closed'],
    ['nothing', '', 'closed'],
  ])('%s', async (_what, octets, code) => {
    const http = await kept(startRawServer(answersWith(octets)));
    expect(await observe({ http })).toBe(code);
    await http.idle();
  });

  test.each<[string, Behaviour, string]>([
    ['fields for ever', sendsForEver(HEAD, 'X: y\r\n'), 'too-large'],
    ['interim responses for ever', sendsForEver('', interim(1)), 'too-large'],
    ['empty lines for ever', sendsForEver('', '\r\n'), 'timeout'],
    ['an octet now and then', trickles(`${HEAD}X: `, 'x', 20), 'timeout'],
    ['an interim response and nothing more', trickles(interim(1), '', 1000), 'timeout'],
    ['nothing', saysNothing, 'timeout'],
    ['a reset', resets, 'closed'],
  ])('%s', async (_what, behaviour, code) => {
    const http = await kept(startRawServer(behaviour));
    expect(await observe({ http }, { timeout: code === 'timeout' ? 300 : AMPLE })).toBe(code);
    await http.idle();
  });
});

describe('a body', () => {
  test('is not waited for: a compressed bomb is cut off before it is sent', async () => {
    const bomb = gzipSync(Buffer.alloc(1 << 20));
    const pieces = 64 * 1024;
    let sent = 0;
    let ended: () => void = () => undefined;
    const cutOff = new Promise<void>((resolve) => {
      ended = resolve;
    });
    const sendBomb = async (socket: Socket) => {
      await once(socket, 'data');
      socket.once('close', ended);
      const length = pieces * bomb.length;
      socket.write(`${HEAD}Content-Encoding: gzip\r\nContent-Length: ${length}\r\n\r\n`);
      while (sent < pieces && !socket.destroyed) {
        sent += 1;
        await new Promise((resolve) => socket.write(bomb, resolve));
      }
    };
    const http = await kept(startRawServer((socket) => void sendBomb(socket)));
    expect(await observe({ http })).toMatchObject({ http: { 'content-encoding': 'gzip' } });
    await cutOff;
    expect(sent).toBeLessThan(pieces);
  });

  test('is not waited for: one that never comes holds nothing up', async () => {
    const http = await kept(startRawServer(trickles(`${HEAD}Content-Length: 5\r\n\r\n`, '', 1000)));
    expect(await observe({ http })).toEqual({ http: { 'content-length': '5' } });
    await http.idle();
  });
});

describe('the guard', () => {
  test.each([
    ...['127.0.0.1', '127.255.255.254', '10.0.0.1', '169.254.169.254', '0.0.0.0', '::1', '::', 'fe80::1'],
    ...['::ffff:10.0.0.1', '::ffff:127.0.0.1', '::127.0.0.1', '64:ff9b::127.0.0.1', '2002:7f00:1::'],
  ])('rejects %s before there is a socket for it', async (address) => {
    const sockets: unknown[] = [];
    const count = (message: unknown) => sockets.push(message);
    subscribe('net.client.socket', count);
    onTestFinished(() => {
      unsubscribe('net.client.socket', count);
    });
    const message = `${address} is not a public address`;
    const failure = { code: 'private-address', message };
    const client = clientOf({ allowPrivate: false });
    expect(await client.observe('a.example', [address])).toEqual({ kind: 'failed', failure });
    expect(sockets).toEqual([]);
  });

  test.each(['127.0.0.1', '::ffff:127.0.0.1'])('blocks %s at every port', async (address) => {
    const http = await kept(startHttpServer());
    const https = await kept(startHttpsServer());
    const client = clientOf({ httpsPort: https.port, httpPort: http.port, allowPrivate: false });
    expect(short(await client.observe('a.example', [address]))).toBe('private-address');
    expect([http.connections, https.connections]).toEqual([0, 0]);
  });

  test('rejects a domain that is an address: no lookup would see it', async () => {
    const http = await kept(startHttpServer());
    const client = clientOf({ httpPort: http.port });
    for (const domain of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) {
      expect(short(await client.observe(domain, ['127.0.0.1']))).toBe('no-address');
    }
    expect(http.connections).toBe(0);
  });

  test('connects to the address given and nowhere else: no name is resolved', async () => {
    const http = await kept(startHttpServer({ address: '127.0.0.2' }));
    const other = await kept(startHttpServer({ address: '127.0.0.1', port: http.port }));
    const client = clientOf({ httpPort: http.port });
    const answer = await client.observe('localhost', ['127.0.0.2']);
    expect(answer).toMatchObject({ kind: 'answered', address: '127.0.0.2' });
    expect([http.connections, other.connections]).toEqual([1, 0]);
  });

  test('follows no redirect: it is a header like any other', async () => {
    const elsewhere = await kept(startHttpServer());
    const http = await kept(startHttpServer());
    const client = clientOf({ httpPort: http.port });
    for (const location of ['http://169.254.169.254/', `http://127.0.0.1:${elsewhere.port}/`]) {
      http.serve({ status: 302, fields: [['Location', location]] });
      const answer = await client.observe('a.example', ['127.0.0.1']);
      expect(answer).toMatchObject({ status: 302, headers: new Map([['location', location]]) });
    }
    expect([http.connections, elsewhere.connections]).toEqual([2, 0]);
  });

  test('is not needed where the domain has no address', async () => {
    expect(short(await clientOf({}).observe('a.example', []))).toBe('no-address');
  });
});

describe('an observation that is stopped', () => {
  test.each<[string, 'httpPort' | 'httpsPort']>([
    ['during the TLS handshake', 'httpsPort'],
    ['while it waits for the response', 'httpPort'],
  ])('%s ends at once', async (_when, port) => {
    const controller = new AbortController();
    const server = await kept(startRawServer((socket) => socket.once('data', () => controller.abort())));
    const answer = await clientOf({ [port]: server.port }).observe(
      'a.example',
      ['127.0.0.1'],
      controller.signal,
    );
    expect(short(answer)).toBe('stopped');
    await server.idle();
  });

  test('before it has begun makes no connection', async () => {
    const http = await kept(startHttpServer());
    const client = clientOf({ httpPort: http.port });
    expect(short(await client.observe('a.example', ['127.0.0.1'], AbortSignal.abort()))).toBe('stopped');
    expect(http.connections).toBe(0);
  });

  test('while it waits for a connection leaves the others alone', async () => {
    const controller = new AbortController();
    const http = await kept(
      startRawServer((socket) => {
        socket.once('data', () => {
          controller.abort();
          socket.end(`${HEAD}\r\n`);
        });
      }),
    );
    const client = clientOf({ httpPort: http.port, connectionsPerAddress: 1 });
    const first = client.observe('a.example', ['127.0.0.1']);
    const second = client.observe('b.example', ['127.0.0.1'], controller.signal);
    expect(short(await second)).toBe('stopped');
    expect(short(await first)).toEqual({ http: {} });
    expect(short(await client.observe('c.example', ['127.0.0.1']))).toEqual({ http: {} });
  });

  test('with others by one signal ends with all of them, and so does one that comes later', async () => {
    const server = await kept(startRawServer(saysNothing));
    const client = clientOf({ httpPort: server.port, connectionsPerAddress: 1 });
    const controller = new AbortController();
    const begin = (domain: string) => client.observe(domain, ['127.0.0.1'], controller.signal);
    const observations = ['a.example', 'b.example'].map(begin);
    controller.abort();
    observations.push(begin('c.example'));
    expect((await Promise.all(observations)).map(short)).toEqual(['stopped', 'stopped', 'stopped']);
    await server.idle();
  });
});

describe('the connections to one address', () => {
  test('are limited, and what waits gets one in the end', async () => {
    const limit = 3;
    const underWay = new Set<Socket>();
    let most = 0;
    const http = await kept(
      startRawServer((socket) => {
        socket.once('data', () => {
          underWay.add(socket);
          most = Math.max(most, underWay.size);
          if (underWay.size < limit) return;
          // Answered from here on are only as many as come: the next ones have to come first.
          for (const held of underWay) held.end(`${HEAD}\r\n`);
          underWay.clear();
        });
      }),
    );
    const client = clientOf({ httpPort: http.port, connectionsPerAddress: limit });
    const domains = Array.from({ length: 4 * limit }, (_domain, at) => `${at}.example`);
    const answers = await Promise.all(domains.map((domain) => client.observe(domain, ['127.0.0.1'])));
    expect(answers.map(short)).toEqual(domains.map(() => ({ http: {} })));
    expect([most, http.connections]).toEqual([limit, domains.length]);
  });

  test('are not waited for once the address is known not to respond', async () => {
    const http = await kept(startRawServer(saysNothing));
    const client = clientOf({ httpPort: http.port, connectionsPerAddress: 4, timeout: 300 });
    const domains = Array.from({ length: 100 }, (_domain, at) => `${at}.example`);
    const answers = await Promise.all(domains.map((domain) => client.observe(domain, ['127.0.0.1'])));
    expect(new Set(answers.map(short))).toEqual(new Set(['timeout']));
    // Eight make it a silent address; three more may be under way by then.
    expect(http.connections).toBeLessThanOrEqual(11);
  });

  test('do not use up the time of what waits for one', async () => {
    let first = true;
    const http = await kept(
      startRawServer((socket) => {
        if (!first) answersWith(`${HEAD}\r\n`)(socket);
        first = false;
      }),
    );
    const client = clientOf({ httpPort: http.port, connectionsPerAddress: 1, timeout: 1000 });
    const observations = ['a.example', 'b.example'].map((domain) => client.observe(domain, ['127.0.0.1']));
    expect((await Promise.all(observations)).map(short)).toEqual(['timeout', { http: {} }]);
  });
});

describe('a client', () => {
  test('keeps no socket and no timer of what it has observed', async () => {
    const http = await kept(startHttpServer());
    const silent = await kept(startRawServer(closes));
    const client = clientOf({ httpsPort: silent.port, httpPort: http.port });
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    for (let at = 0; at < 50; at += 1) await client.observe('a.example', ['127.0.0.1']);
    await Promise.all([http.idle(), silent.idle()]);
    expect(timers() - before).toBeLessThan(25);
  });
});
