/**
 * What requests that are meant to stop the service cost those who ask beside them: each attack on a new `dms serve`
 * with the default limits, beside one client that asks for a small domain and one that asks for /livez. With --trial, a
 * mix of all on one server. It ends with 1 where a bound is broken that docs/limits.md promises. See README.md.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { peakMemory, run, startServer } from './processes.js';
import { processorTime } from './read/processor-time.js';
import { printTable, whole } from './report.js';
import { createScratchDatabase } from './scratch-database.js';

const { values: options } = parseArgs({
  options: {
    // Another checkout's, to compare with.
    program: { type: 'string', default: fileURLToPath(new URL('../bin/dms.js', import.meta.url)) },
    // For each attack, or for the trial.
    seconds: { type: 'string' },
    // Only attacks whose title has this text.
    only: { type: 'string', default: '' },
    trial: { type: 'boolean', default: false },
  },
});
const SECONDS = Number(options.seconds ?? (options.trial ? 600 : 4));
/** In milliseconds, of 99 responses of 100; and in MB. */
const BOUNDS = { livez: 250, small: 750, memory: 600 };
/** How many attacks a trial plays at once, and for how long each, in milliseconds. */
const TRIAL = { atOnce: 3, each: 10_000 };
/** In milliseconds: so long a connection waits for the responses to what is written to it. */
const ANSWERED_WITHIN = 2_000;
/** How many domains have a history just below the size of a large one. */
const EDGES = 20;
/** Requests of the attack that is measured. */
let sent = 0;

const serverUrl = process.env['DATABASE_URL'];
if (!serverUrl) throw new Error('Set DATABASE_URL to a PostgreSQL server: see README.md.');
const folder = mkdtempSync(join(tmpdir(), 'dms-bench-'));
const database = await createScratchDatabase(serverUrl);
const environment = {
  DATABASE_URL: database.url,
  ROLE: 'api',
  LOG_LEVEL: 'silent',
  LIMIT_RECORDS_PER_TYPE: '1000000',
  LIMIT_RECORDS: '1000000',
  LIMIT_LINE: '64MB',
};

/** @param {number} count @param {(at: number) => string} field */
const repeated = (count, field) => Array.from({ length: count }, (_, at) => `a${at}: ${field(at)}`).join(' ');

const NESTED = brotliCompressSync(
  `{"query":"query($n:String!){domain(name:$n){name}}","variables":{"n":${'['.repeat(250_000)}${']'.repeat(250_000)}}}`,
);

/**
 * @typedef {object} Attack
 * @property {string} title
 * @property {number} clients
 * @property {number} [addresses] how many addresses the clients share; absent: each has its own.
 * @property {boolean} [isFlood] what a proxy stands in front for: it is measured, and not judged.
 * @property {(port: number, client: string, isOver: () => boolean) => Promise<void>} play
 */

const LARGE =
  '{ domain(name: "heavy.example") { dnsRecords { ... on DnsRecordEntry { id host class type firstSeen } } } }';
const REVERSED = '(from: "2024-02-01T00:00:00Z", to: "2024-01-01T00:00:00Z") { from }';
const SCHEMA = `{ domain(name: "small.example") { name } __type(name: "DnsRecord") { ${repeated(490, () => 'possibleTypes { fields { description name args { description } type { name description } } }')} } }`;

/** @type {Attack[]} */
const ATTACKS = [
  { title: 'none', clients: 0, play: async () => undefined },
  {
    title: '499 lists of the entries of 16 TXT records with 65,000 each',
    clients: 4,
    play: again(
      `{ domain(name: "texts.example") { ${repeated(499, () => 'dnsRecords { ... on TxtRecord { entries } }')} } }`,
    ),
  },
  {
    title: '499 lists of 2,000 records',
    clients: 4,
    play: again(`{ domain(name: "heavy.example") { ${repeated(499, () => 'dnsRecords { __typename }')} } }`),
  },
  {
    title: '10 domains with 300 headers of 20 changes',
    clients: 4,
    play: again(
      `{ ${repeated(10, () => 'domain(name: "heavy.example") { httpHeaders { name history { date new old } } }')} }`,
    ),
  },
  {
    title: 'changes in an interval, of 72,000 and of 6,000, 8 times',
    clients: 4,
    play: again(
      `{ ${repeated(8, (at) => `domain(name: "${at % 2 === 0 ? 'large' : 'heavy'}.example") { changes(first: 1, from: "2023-01-01T00:00:00Z", to: "2024-01-19T00:00:00Z") { nodes { id } } }`)} }`,
    ),
  },
  {
    title: 'pages of 500 of the feed, 4 times',
    clients: 4,
    play: again(`{ ${repeated(4, () => 'changes(first: 500, order: NEWEST_FIRST) { nodes { id } }')} }`),
  },
  {
    title: '99,000 wrong variables, compiled',
    clients: 8,
    play: again(
      'query ($types: [String!]) { domain(name: "small.example") { dnsRecords(types: $types) { __typename } } }',
      { types: Array(99_000).fill(1) },
    ),
  },
  {
    title: 'types and fields of the schema, 30 times, beside a domain',
    clients: 4,
    play: again(
      `{ domain(name: "small.example") { name } __schema { ${repeated(30, () => 'types { name fields { name description } }')} } }`,
    ),
  },
  {
    title: 'the entries of 16 TXT records, 132 times',
    clients: 4,
    play: again(
      `{ domain(name: "texts.example") { ${repeated(132, () => 'dnsRecords { ... on TxtRecord { entries } }')} } }`,
    ),
  },
  {
    title: '490 filters of 72,000 records',
    clients: 4,
    play: again(
      `{ domain(name: "large.example") { ${repeated(490, () => 'dnsRecords(types: ["MX"]) { __typename }')} } }`,
    ),
  },
  {
    title: '490 lists of those present of 72,000 records, by two types',
    clients: 4,
    play: again(
      `{ domain(name: "large.example") { ${repeated(490, () => 'dnsRecords(types: ["A", "MX"], present: true) { __typename }')} } }`,
    ),
  },
  {
    title: 'a string of 250,000 characters in a list, under 490 aliases',
    clients: 1,
    play: again(
      `query ($types: [String!]) { domain(name: "small.example") { ${repeated(490, () => 'dnsRecords(types: $types) { __typename }')} } }`,
      { types: ['\u0390'.repeat(250_000)] },
    ),
  },
  {
    title: '11 domains with 21,600 TXT strings each, 3 at once',
    clients: 12,
    play: again(
      `{ ${repeated(11, (index) => `domain(name: "edge${index}.example") { dnsRecords { ... on TxtRecord { entries } } }`)} }`,
    ),
  },
  {
    title: '4,500 fields that fail',
    clients: 4,
    play: again(
      `{ domains(names: ${JSON.stringify(Array(20).fill('small.example'))}) { ${repeated(225, () => `diff${REVERSED}`)} } }`,
    ),
  },
  {
    title: '1,000 names, 6 times at once',
    clients: 6,
    addresses: 3,
    play: again(
      `{ domains(names: ${JSON.stringify(Array.from({ length: 1_000 }, (_, at) => `d${at}.example`))}) { dnsRecordCount dnsRecords { __typename } } }`,
    ),
  },
  {
    title: 'documents that come twice, with fragments of 26,000 fields',
    clients: 4,
    play: again(
      `{ ${repeated(30, () => 'domain(name: "small.example") { changes(first: 1) { nodes { ...F } } }')} } fragment F on Change { ${repeated(60, () => 'id')} } # `,
      {},
      2,
    ),
  },
  {
    title: '200 unknown tokens in one packet',
    clients: 8,
    addresses: 4,
    play: written(
      Array.from(
        { length: 200 },
        (_, at) =>
          `GET / HTTP/1.1\r\nhost: a\r\nauthorization: Bearer dms_${String(at).padStart(43, 'x')}\r\n\r\n`,
      ).join(''),
      200,
    ),
  },
  {
    title: '250,000 values under aliases',
    clients: 4,
    play: again(
      `{ domains(names: ${JSON.stringify(Array(100).fill('small.example'))}) { ${repeated(2_400, () => 'unicodeName')} } }`,
    ),
  },
  {
    title: 'names of 99 characters for each field of each record',
    clients: 4,
    play: again(
      `{ domains(names: ${JSON.stringify(Array(20).fill('heavy.example'))}) { dnsRecords { ${repeated(90, () => '... on DnsRecordEntry { host }').replaceAll('host }', `${'b'.repeat(96)}: host }`)} } } }`,
    ),
  },
  {
    title: 'searches for a part of a value, 4 times, and statistics',
    clients: 4,
    play: again(
      `{ statistics { domains dnsRecords } ${repeated(4, (at) => `httpHeaders(where: { name: "x-header-${at}", contains: "value 1" }) { nodes { value } }`)} }`,
    ),
  },
  {
    title: 'whole histories by REST, of 7 MB, read at once',
    clients: 4,
    play: gets('/api/v1/domain/large.example'),
  },
  {
    title: 'differences of large histories',
    clients: 4,
    play: gets('/api/v1/domain/heavy.example/diff?from=2024-01-01T00:00:00Z&to=2024-02-01T00:00:00Z'),
  },
  {
    title: 'a new list of 29,000 strings in each document',
    clients: 4,
    play: again(
      `{ domain(name: "small.example") { dnsRecords(types: [${'"" '.repeat(29_000)}]) { __typename } } } # `,
      {},
      1,
    ),
  },
  {
    title: '10,900 strings in a variable, under 9 aliases',
    clients: 4,
    play: again(
      `query ($types: [String!]) { domain(name: "small.example") { ${repeated(9, () => 'dnsRecords(types: $types) { __typename }')} } }`,
      { types: Array(10_900).fill('TYPE1') },
    ),
  },
  {
    title: '1,500 types in a variable, under 60 aliases',
    clients: 12,
    addresses: 4,
    play: again(
      `query ($types: [String!]) { domain(name: "small.example") { ${repeated(60, () => 'dnsRecords(types: $types) { __typename }')} } }`,
      { types: Array.from({ length: 1_500 }, (_, at) => `TYPE${at + 1_000}`) },
    ),
  },
  {
    title: 'new documents with 28,000 comparisons of fields',
    clients: 4,
    play: again(
      `{ domain(name: "small.example") { ${'httpHeaders { history { new } } '.repeat(138)} } } # `,
      {},
      1,
    ),
  },
  {
    title: '250 REST requests of 60 kB each in one packet',
    clients: 4,
    play: pipelined(250, (at) => `/api/v1/domain/edge${at % EDGES}.example`),
  },
  {
    title: '2,300 requests of no path in one packet',
    isFlood: true,
    clients: 4,
    play: pipelined(2_300, () => '/x'),
  },
  { title: 'bodies in 500,000 chunks of one octet', isFlood: true, clients: 4, play: inChunks() },
  {
    title: '512 kB of brackets in 541 octets of gzip',
    clients: 4,
    play: packed(gzipSync('['.repeat(512 * 1024)), 'gzip'),
  },
  {
    title: '250,000 lists in each other, in 81 octets of br',
    clients: 12,
    addresses: 4,
    play: packed(NESTED, 'br'),
  },
  {
    title: '250 requests with a body that is not read in one packet',
    clients: 4,
    play: written('GET /x HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n{}'.repeat(250), 250),
  },
  {
    title: '250 requests of no path in one packet, 400 connections',
    isFlood: true,
    clients: 400,
    addresses: 4,
    play: pipelined(250, () => '/x'),
  },
  {
    title: '1,550 header fields and half a body, 3,900 connections',
    isFlood: true,
    clients: 3_900,
    addresses: 4,
    play: held(
      `POST /graphql HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 16000\r\n${Array.from({ length: 1_550 }, (_, at) => `f${at}: v\r\n`).join('')}\r\n `,
    ),
  },
  {
    title: 'a path of 12 kB and 102 header fields on 3,800 connections at once',
    isFlood: true,
    clients: 3_800,
    addresses: 4,
    play: together(`GET /x?${'a'.repeat(12_000)} HTTP/1.1\r\nhost: a\r\n${'xx:\r\n'.repeat(102)}\r\n`),
  },
  {
    title: "a page's script by br, three times on 400 connections, not read",
    isFlood: true,
    clients: 400,
    addresses: 4,
    play: held(
      'GET /assets/graphiql/graphiql.js HTTP/1.1\r\nhost: a\r\naccept-encoding: br\r\n\r\n'.repeat(3),
    ),
  },
  {
    title: '200 GraphQL answers of 9.6 MB, read by 2 kB in 10 s',
    clients: 200,
    isFlood: true,
    play: slowly(LARGE),
  },
  {
    title: '150 REST answers of 9.6 MB, read by 2 kB in 10 s',
    clients: 150,
    isFlood: true,
    play: slowly(null),
  },
  {
    title: '200 answers of 7.7 MB of the schema, read by 2 kB in 10 s',
    clients: 200,
    isFlood: true,
    play: slowly(SCHEMA),
  },
];

try {
  await record();
  const chosen = ATTACKS.filter(({ title }) => title.includes(options.only));
  const rows = [];
  if (options.trial) rows.push(await measure(mixed(chosen.filter(({ isFlood }) => !isFlood))));
  else for (const attack of chosen) rows.push(await measure(attack));
  const columns = ['attack', 'requests', 'processor time', 'peak memory', '/livez, 99 of 100', 'longest'];
  printTable([...columns, 'small, 99 of 100', 'longest', ''], rows);
  if (rows.some((row) => !['', 'a flood'].includes(String(row.at(-1))))) process.exitCode = 1;
} finally {
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
}

/**
 * A few attacks at a time, each for a while, in an order that is always the same.
 *
 * @param {Attack[]} attacks
 * @returns {Attack}
 */
function mixed(attacks) {
  let turn = 0;
  return {
    title: `a trial of ${SECONDS} s`,
    clients: TRIAL.atOnce,
    async play(port, _client, isOver) {
      while (!isOver()) {
        const { clients, addresses = clients, play } = attacks[turn % attacks.length] ?? { clients: 0 };
        turn += 1;
        const end = performance.now() + TRIAL.each;
        const isDone = () => isOver() || performance.now() > end;
        // Each time from other addresses, which have all of their limits.
        const network = (turn % 250) + 2;
        await Promise.all(
          Array.from({ length: clients }, (_, at) =>
            play?.(port, `127.0.${network}.${(at % Math.min(addresses, 250)) + 1}`, isDone),
          ),
        );
      }
    },
  };
}

/** @param {Attack} attack */
async function measure({ title, clients, addresses = clients, isFlood = false, play }) {
  const server = await startServer([options.program, 'serve'], environment, join(folder, 'server.log'));
  const port = Number(new URL(server.url).port);
  try {
    await timed(port, '/api/v1/domain/small.example');
    const computed = processorTime(server.child.pid);
    const end = performance.now() + SECONDS * 1000;
    const isOver = () => performance.now() > end || server.child.exitCode !== null;
    sent = 0;
    const attackers = Array.from({ length: clients }, (_, at) =>
      play(port, `127.0.1.${(at % Math.min(addresses, 250)) + 1}`, isOver),
    );
    const beside = ['/livez', '/api/v1/domain/small.example'].map(async (path) => {
      const latencies = [];
      while (!isOver()) {
        latencies.push(await timed(port, path));
        // Within its limit of 600 in a minute.
        await pause(110);
      }
      return latencies.sort((one, other) => one - other);
    });
    const [livez = [], small = []] = await Promise.all(beside);
    await Promise.all(attackers);
    const share = (processorTime(server.child.pid) - computed) / 1e6 / SECONDS;
    const of = (/** @type {number[]} */ latencies) => ({
      most: latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN,
      longest: latencies.at(-1) ?? Number.NaN,
    });
    const [alive, asked] = [of(livez), of(small)];
    const memory = peakMemory(server.child);
    const broken = [
      server.child.exitCode === null ? '' : 'it died',
      alive.most <= BOUNDS.livez ? '' : '/livez',
      asked.most <= BOUNDS.small ? '' : 'small',
      memory <= BOUNDS.memory ? '' : 'memory',
    ];
    return [
      title,
      whole(sent),
      `${(share * 100).toFixed(0)} %`,
      `${memory} MB`,
      ...[alive.most, alive.longest, asked.most, asked.longest].map((time) => `${time.toFixed(0)} ms`),
      isFlood ? 'a flood' : broken.filter(Boolean).join(', '),
    ];
  } finally {
    await server.stop();
  }
}

/**
 * @param {number} port
 * @param {string} path
 * @returns {Promise<number>} milliseconds; infinite where there is no answer
 */
async function timed(port, path) {
  const began = performance.now();
  return fetch(`http://127.0.0.1:${port}${path}`)
    .then(async (response) => {
      await response.arrayBuffer();
      return response.status === 200 ? performance.now() - began : Number.POSITIVE_INFINITY;
    })
    .catch(() => Number.POSITIVE_INFINITY);
}

/**
 * Sends one document after the other.
 *
 * @param {string} query
 * @param {object} [variables]
 * @param {number} [times] how often each document is sent, before another; absent: it is always the same.
 * @returns {Attack['play']}
 */
function again(query, variables = {}, times = 0) {
  const same = JSON.stringify({ query, variables });
  return async (port, client, isOver) => {
    // A document that comes back is compiled.
    for (let time = 0; 'types' in variables && times === 0 && time < 2; time += 1)
      await post(port, client, JSON.stringify({ query, variables: { types: ['A'] } }));
    while (!isOver()) {
      sent += 1;
      const body = times === 0 ? same : JSON.stringify({ query: query + Math.ceil(sent / times), variables });
      await post(port, client, body);
    }
  };
}

/**
 * Requests a path, again and again.
 *
 * @param {string} path
 * @returns {Attack['play']}
 */
function gets(path) {
  return async (port, localAddress, isOver) => {
    while (!isOver()) {
      sent += 1;
      await /** @type {Promise<void>} */ (
        new Promise((resolve) => {
          request({ port, path, localAddress }, (response) => response.resume().on('close', resolve))
            .on('error', () => resolve())
            .end();
        })
      );
    }
  };
}

/**
 * @param {Buffer} body
 * @param {string} coding
 * @returns {Attack['play']}
 */
function packed(body, coding) {
  return async (port, client, isOver) => {
    while (!isOver()) {
      sent += 1;
      await post(port, client, body, { 'content-encoding': coding });
    }
  };
}

/**
 * @param {number} port
 * @param {string} localAddress
 * @param {string | Buffer} body
 * @param {Record<string, string>} [fields]
 * @returns {Promise<void>}
 */
function post(port, localAddress, body, fields = {}) {
  return new Promise((resolve) => {
    const headers = { 'content-type': 'application/json', ...fields };
    request({ port, path: '/graphql', method: 'POST', headers, localAddress }, (response) => {
      response.resume().on('close', resolve);
    })
      .on('error', () => resolve())
      .end(body);
  });
}

/**
 * Sends many requests at once, with a pause of a second.
 *
 * @param {number} count
 * @param {(at: number) => string} path
 * @returns {Attack['play']}
 */
function pipelined(count, path) {
  const requests = Array.from({ length: count }, (_, at) => `GET ${path(at)} HTTP/1.1\r\nhost: a\r\n\r\n`);
  return written(requests.join(''), count);
}

/**
 * A body that is never complete.
 *
 * @returns {Attack['play']}
 */
function inChunks() {
  const fields = 'host: a\r\ncontent-type: application/json\r\ntransfer-encoding: chunked';
  return written(`POST /graphql HTTP/1.1\r\n${fields}\r\n\r\n${'1\r\n \r\n'.repeat(500_000)}`, 1);
}

/**
 * Writes a text to a new connection, again and again.
 *
 * @param {string} text
 * @param {number} count how many requests it has.
 * @returns {Attack['play']}
 */
function written(text, count) {
  return async (port, client, isOver) => {
    while (!isOver()) {
      sent += count;
      const socket = connect({ port, host: '127.0.0.1', localAddress: client });
      socket.on('error', () => undefined);
      // Not its end: the client would count as disconnected.
      socket.write(text);
      socket.resume();
      const closed = /** @type {Promise<void>} */ (
        new Promise((resolve) => socket.once('close', () => resolve()))
      );
      await Promise.race([closed, pause(ANSWERED_WITHIN)]);
      socket.destroy();
      await pause(1000);
    }
  };
}

/**
 * Writes a text to a connection, and reads nothing.
 *
 * @param {string} text
 * @returns {Attack['play']}
 */
function held(text) {
  return async (port, client, isOver) => {
    sent += 1;
    const socket = connect({ port, host: '127.0.0.1', localAddress: client });
    socket.on('error', () => undefined);
    socket.write(text);
    socket.pause();
    while (!isOver() && !socket.destroyed) await pause(1000);
    socket.destroy();
  };
}

/**
 * Sends a request each second, at the same moment as all others, and connects again where it was disconnected.
 *
 * @param {string} text
 * @returns {Attack['play']}
 */
function together(text) {
  return async (port, client, isOver) => {
    while (!isOver()) {
      const socket = connect({ port, host: '127.0.0.1', localAddress: client });
      socket.on('error', () => undefined).resume();
      while (!isOver() && !socket.destroyed) {
        await pause(1000 - (Date.now() % 1000));
        if (socket.readyState !== 'open') continue;
        sent += 1;
        socket.write(text);
      }
      socket.destroy();
    }
  };
}

/**
 * Requests a large history, or what a query selects, and hardly reads the answer.
 *
 * @param {string | null} query
 * @returns {Attack['play']}
 */
function slowly(query) {
  const body = JSON.stringify({ query });
  const head =
    query === null
      ? 'GET /api/v1/domain/large.example HTTP/1.1\r\nhost: a\r\n\r\n'
      : `POST /graphql HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  return async (port, client, isOver) => {
    while (!isOver()) {
      sent += 1;
      const socket = connect({ port, host: '127.0.0.1', localAddress: client });
      socket.on('error', () => undefined);
      socket.write(head);
      socket.pause();
      while (!isOver() && !socket.destroyed) {
        await pause(1000);
        socket.read(200);
      }
      socket.destroy();
    }
  };
}

/** Domains with much of everything. */
async function record() {
  const at = (/** @type {number} */ day) => new Date(Date.UTC(2024, 0, day)).toISOString();
  const address = (/** @type {number} */ index) => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;
  const records = (/** @type {string} */ host, /** @type {number} */ count) =>
    Array.from({ length: count }, (_, index) => ({ host, class: 'IN', type: 'A', ip: address(index) }));
  const entries = (/** @type {number} */ first) => [String(first), ...Array(64_000).fill('')];
  const texts = Array.from({ length: 16 }, (_, index) => ({
    ...{ host: 'texts.example', class: 'IN', type: 'TXT', entries: entries(index) },
  }));
  const headers = (/** @type {number} */ day) =>
    Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`x-header-${index}`, `value ${day}`]));
  const lines = [
    { domain: 'small.example', observedAt: at(1), dnsRecords: records('small.example', 10) },
    { domain: 'large.example', observedAt: at(1), dnsRecords: records('large.example', 72_000) },
    { domain: 'texts.example', observedAt: at(1), dnsRecords: texts },
    ...Array.from({ length: EDGES }, (_, index) => ({
      domain: `edge${index}.example`,
      observedAt: at(1),
      dnsRecords: [
        { host: `edge${index}.example`, class: 'IN', type: 'TXT', entries: Array(21_000).fill('') },
      ],
    })),
    { domain: 'heavy.example', observedAt: at(1), dnsRecords: records('heavy.example', 2_000) },
    ...Array.from({ length: 20 }, (_, day) => ({
      ...{ domain: 'heavy.example', observedAt: at(day + 2), httpHeaders: headers(day) },
    })),
  ];
  const file = join(folder, 'heavy.ndjson');
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const { code, stderr, stdout } = await run(
    process.execPath,
    [options.program, 'import', file],
    environment,
  );
  if (code !== 0 || /rejected\s+[1-9]/.test(stdout))
    throw new Error(`dms import: ${code} ${stdout}${stderr}`);
}
