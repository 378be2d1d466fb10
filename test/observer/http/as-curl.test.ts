import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../src/observer/http/client.js';
import { answersWith, type Behaviour, closes } from '../../support/web-hostile.js';
import { REJECTING_PORT, startRawServer } from '../../support/web-server.js';

const OK = 'HTTP/1.1 200 OK\r\n';
const X = { server: 'x' };
const length = (value: string) => ({ 'content-length': value });

/** What is sent, and what is observed: the headers, or the code of the failure. */
type Case = [what: string, octets: string, observed: Readonly<Record<string, string>> | string];

/** A response for each of these status lines. */
function startingWith(observed: Case[2], ...lines: readonly string[]): Case[] {
  return lines.map((line) => [JSON.stringify(line), `${line}\r\nServer: x\r\n\r\n`, observed]);
}

const READ_AS_CURL_DOES: readonly Case[] = [
  ...startingWith(X, 'HTTP/1.0 200 OK', 'http/1.1 200 OK', 'HTTP/1.1 200', 'HTTP/1.1 200OK'),
  ...startingWith(X, 'HTTP/1.1  200 OK', 'HTTP/1.1 999 X', 'HTTP/1.1 304 Not Modified'),
  ['bare LF', 'HTTP/1.1 200 OK\nServer: x\nVia: y\n\nbody', { ...X, via: 'y' }],
  ['CRLF and LF in turns', 'HTTP/1.1 200 OK\r\nServer: x\nVia: y\r\n\nbody', { ...X, via: 'y' }],
  ['a status line alone', 'HTTP/1.1 200 OK\n\n', {}],
  ['a folded line', `${OK}A: a\r\n b\r\nServer: x\r\n\r\n`, { a: 'a b', ...X }],
  ['lines folded with tabs', `${OK}A: a \r\n\t  b\r\n  c\r\nServer: x\r\n\r\n`, { a: 'a b c', ...X }],
  ['a folded line of blanks', `${OK}A: a\r\n  \r\nServer: x\r\n\r\n`, { a: 'a', ...X }],
  ['a value on a folded line', `${OK}A:\r\n b\r\n\r\n`, { a: 'b' }],
  ['blanks before the colon', `${OK}Server : x\r\nVia\t : y\r\n\r\n`, { ...X, via: 'y' }],
  ['equal numbers in one Content-Length', `${OK}Content-Length: 2, 2\r\n\r\nok`, length('2, 2')],
  ['two numbers as Content-Length', `${OK}Content-Length: 3\r\nContent-Length: 2\r\n\r\nok`, length('3, 2')],
  [
    'Content-Length with chunked',
    `${OK}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
    { 'content-length': '2', 'transfer-encoding': 'chunked' },
  ],
  ['control characters in a value', `${OK}A: a\x01b\x7f\r\n\r\n`, { a: 'a\x01b\x7f' }],
  ['a second CR before LF', `${OK}A: a\r\r\nServer: x\r\n\r\n`, { a: 'a', ...X }],
  ['a head that ends with the connection', `${OK}Server: x\r\n`, X],
  ['an offer of HTTP/2', `${OK}Upgrade: h2,h2c\r\nServer: x\r\n\r\n`, { upgrade: 'h2,h2c', ...X }],
  ['interim responses', `HTTP/1.1 100 C\n\nHTTP/1.1 103 E\r\nLink: a\r\n\r\n${OK}Server: x\r\n\r\n`, X],
  // No history can hold such names: the other fields are observed.
  ['a blank in a name', `${OK}X Y: z\r\nServer: x\r\n\r\n`, X],
  ['parentheses in a name', `${OK}X(Y): z\r\nServer: x\r\n\r\n`, X],
  ['an empty name', `${OK}: z\r\nServer: x\r\n\r\n`, X],
];

const REJECTED_AS_BY_CURL: readonly Case[] = [
  ...startingWith('malformed', 'RTSP/1.0 200 OK', 'SIP/2.0 200 OK', 'HTTP/0.9 200 OK', 'HTTP/3 200 OK'),
  ...startingWith('malformed', 'HTTP/1 200 OK', 'HTTP/1.10 200 OK', 'HTTP/11.1 200 OK', 'HTTP/1.1\t200 OK'),
  ...startingWith('malformed', 'HTTP/1.1 20 OK', 'HTTP/1.1 1000 X', 'HTTP/1.1 099 X', 'HTTP/1.1 abc X'),
  ...startingWith('malformed', ' HTTP/1.1 200 OK', 'HTTP/1.1 200 O\0K'),
  ['Icecast', 'ICY 200 OK\r\nicy-name: x\r\n\r\n', 'malformed'],
  ['SSH', 'SSH-2.0-OpenSSH_9.2p1\r\n', 'malformed'],
  ['the body of HTTP/0.9', '<html>hello</html>\r\n', 'malformed'],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'malformed'],
  ['frames of HTTP/2', '\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x80', 'malformed'],
  ['RTSP after an interim response', 'HTTP/1.1 103 E\r\n\r\nRTSP/1.0 200 OK\r\n\r\n', 'malformed'],
  ['a field without a colon', `${OK}Server: x\r\nnothing\r\n\r\n`, 'malformed'],
  ['NUL in a value', `${OK}A: a\0b\r\n\r\n`, 'malformed'],
  ['NUL in a name', `${OK}A\0B: a\r\n\r\n`, 'malformed'],
  ['a switch of protocols', 'HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n', 'malformed'],
  ['lines that end with CR', 'HTTP/1.1 200 OK\rServer: x\r\r', 'closed'],
  ['interim responses only', 'HTTP/1.1 103 E\r\nLink: a\r\n\r\n', 'closed'],
];

/** curl shows these to its user; a history must not hold what may be half of a head, or a guess. */
const READ_BY_CURL_ONLY: readonly Case[] = [
  ['a head that ends within a line', `${OK}Server: x\r\nVia: y`, 'closed'],
  ['HTTP/2 in a status line', 'HTTP/2.0 200 OK\r\nServer: x\r\n\r\n', 'malformed'],
  ['CR in a value, after which curl drops the rest', `${OK}A: a\rb\r\n\r\n`, 'malformed'],
];

/** What curl does not read, and is no reason to reject the headers. */
const REJECTED_BY_CURL_ONLY: readonly Case[] = [
  ['a minor version to come (RFC 9110, section 2.5)', 'HTTP/1.2 200 OK\r\nServer: x\r\n\r\n', X],
  ['empty lines before the status line', `\r\n\r\n${OK}Server: x\r\n\r\n`, X],
  ['a Content-Length that is no number', `${OK}Content-Length: abc\r\n\r\nok`, length('abc')],
  ['a broken body', `${OK}Transfer-Encoding: chunked\r\n\r\nno chunk`, { 'transfer-encoding': 'chunked' }],
  ['an unknown Transfer-Encoding', `${OK}Transfer-Encoding: x\r\n\r\nok`, { 'transfer-encoding': 'x' }],
];

let behave: Behaviour = closes;
const server = await startRawServer((socket) => behave(socket));
afterAll(() => server.close());

async function observed(octets: string): Promise<Case[2]> {
  behave = answersWith(octets);
  const client = createHttpClient({
    httpsPort: REJECTING_PORT,
    httpPort: server.port,
    timeout: 60_000,
    userAgent: 'domain-metadata-service',
    ignoredHeaders: new Set(),
    allowPrivate: true,
    connectionsPerAddress: 1,
  });
  const answer = await client.observe('a.example', ['127.0.0.1'], new AbortController().signal);
  return answer.kind === 'failed' ? answer.failure.code : Object.fromEntries(answer.headers);
}

async function curlReads(octets: string): Promise<boolean> {
  behave = answersWith(octets);
  const args = ['-q', '--silent', '--http1.1', '--output', '/dev/null', `http://127.0.0.1:${server.port}/`];
  return promisify(execFile)('curl', args).then(
    () => true,
    () => false,
  );
}

const HAS_CURL = spawnSync('curl', ['--version']).status === 0;

describe.each([
  ['is observed, and read by curl', READ_AS_CURL_DOES, true],
  ['is a failure, and rejected by curl', REJECTED_AS_BY_CURL, false],
  ['is a failure, though curl reads it', READ_BY_CURL_ONLY, true],
  ['is observed, though curl rejects it', REJECTED_BY_CURL_ONLY, false],
])('a response that %s:', (_what, cases, byCurl) => {
  test.each(cases)('%s', async (_case, octets, expected) => {
    expect(await observed(octets)).toEqual(expected);
  });

  test.skipIf(!HAS_CURL).each(cases)('%s (curl)', async (_case, octets) => {
    expect(await curlReads(octets)).toBe(byCurl);
  });
});

// Up to 8.2 curl rejects such a response, and reads it since.
test('field lines that begin with a blank, and follow no other, are skipped (RFC 9112, section 2.2)', async () => {
  expect(await observed(`${OK} A: a\r\n\tb\r\nServer: x\r\n\r\n`)).toEqual(X);
  expect(await observed(`${OK} A: a\r\n\r\n`)).toEqual({});
});
