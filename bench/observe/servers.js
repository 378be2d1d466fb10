/**
 * The domains that are observed: a DNS server that knows every name, over UDP, and a web server, on one
 * port. Both do as little as they can, so that what is measured is whoever asks. Names in `silent.example`
 * have no answer, and those in `servfail.example` SERVFAIL after three seconds.
 */

import { createSocket } from 'node:dgram';
import { createServer } from 'node:http';
import dnsPacket from 'dns-packet';

const port = Number(process.env['PORT']);

/** The owner of every record is the name in the question, which begins at octet 12 (RFC 1035, 4.1.4). */
const OWNER = Buffer.of(0xc0, 0x0c);
const HEADER_LENGTH = 12;
const SERVFAIL = 2;
const NXDOMAIN = 3;
const SERVFAIL_AFTER = 3000;

const OF_ROOT = /** @type {const} */ ({ name: '.', class: 'IN', ttl: 300 });

/** @type {import('dns-packet').Answer[]} */
const RECORDS = [
  { ...OF_ROOT, type: 'A', data: '127.0.0.1' },
  { ...OF_ROOT, type: 'AAAA', data: '::1' },
  { ...OF_ROOT, type: 'NS', data: 'ns1.provider.example' },
  { ...OF_ROOT, type: 'NS', data: 'ns2.provider.example' },
  {
    ...OF_ROOT,
    type: 'SOA',
    data: {
      ...{ mname: 'ns1.provider.example', rname: 'hostmaster.provider.example', serial: 2024030101 },
      ...{ refresh: 7200, retry: 3600, expire: 1209600, minimum: 300 },
    },
  },
  { ...OF_ROOT, type: 'TXT', data: 'v=spf1 mx -all' },
  { ...OF_ROOT, type: 'MX', data: { preference: 10, exchange: 'mail.provider.example' } },
  { ...OF_ROOT, type: 'CAA', data: { flags: 0, tag: 'issue', value: 'ca.example' } },
];

/** The answer section for each type, by its number. @type {Map<number, { count: number, octets: Buffer }>} */
const ANSWERS = new Map();
for (const record of RECORDS) {
  const whole = encoded(record);
  const type = whole.readUInt16BE(1);
  const { count, octets } = ANSWERS.get(type) ?? { count: 0, octets: Buffer.alloc(0) };
  ANSWERS.set(type, { count: count + 1, octets: Buffer.concat([octets, OWNER, whole.subarray(1)]) });
}

/** @param {import('dns-packet').Answer} record Of the root. */
function encoded(record) {
  return dnsPacket.encode({ type: 'response', answers: [record] }).subarray(HEADER_LENGTH);
}

/** In the authority section it proves that there are no records of a type (RFC 2308). */
const SOA = Buffer.concat(RECORDS.filter(({ type }) => type === 'SOA').map(encoded));

const socket = createSocket({ type: 'udp4', recvBufferSize: 1 << 22 });
socket.on('message', (query, client) => {
  if (query.includes('\x06silent\x07example')) return;
  const send = (/** @type {Buffer} */ message) => socket.send(message, client.port, client.address);
  if (query.includes('\x08servfail\x07example')) {
    setTimeout(() => send(failure(query, SERVFAIL)), SERVFAIL_AFTER);
  } else if (isRandom(query)) send(failure(query, NXDOMAIN));
  else send(response(query));
});
socket.bind(port, '127.0.0.1');

/** Whether it is for a name by which the service finds resolvers that invent addresses. @param {Buffer} query */
function isRandom(query) {
  const name = query.toString('latin1', HEADER_LENGTH, query.indexOf(0, HEADER_LENGTH));
  return /^.[a-z]{20,}.(com|net)$/s.test(name);
}

/** @param {Buffer} query @param {number} rcode */
function failure(query, rcode) {
  const message = Buffer.from(query.subarray(0, query.indexOf(0, HEADER_LENGTH) + 5));
  message.writeUInt16BE(0x8180 | rcode, 2);
  message.writeUInt16BE(0, 10);
  return message;
}

/** @param {Buffer} query */
function response(query) {
  const end = query.indexOf(0, HEADER_LENGTH) + 5;
  const answer = ANSWERS.get(query.readUInt16BE(end - 4));
  const header = Buffer.alloc(HEADER_LENGTH);
  query.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8180, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(answer?.count ?? 0, 6);
  header.writeUInt16BE(answer === undefined ? 1 : 0, 8);
  return Buffer.concat([header, query.subarray(HEADER_LENGTH, end), answer?.octets ?? SOA]);
}

createServer((_request, response) => {
  response.writeHead(200, {
    'cache-control': 'max-age=600',
    'content-language': 'en',
    'content-length': 2,
    'content-security-policy': "default-src 'self'",
    'content-type': 'text/html; charset=utf-8',
    server: 'nginx/1.24.0',
    'strict-transport-security': 'max-age=31536000',
    vary: 'accept-encoding',
    'x-frame-options': 'DENY',
    connection: 'close',
  });
  response.end('ok');
}).listen({ port, host: '127.0.0.1', backlog: 4096 });
