/**
 * How fast questions across domains are answered, one by one. See README.md.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { run, startServer } from './processes.js';
import { fillForQuestions, PROVIDERS } from './questions/fill.js';
import { median, printTable } from './report.js';
import { createScratchDatabase } from './scratch-database.js';

const { values: options } = parseArgs({
  options: {
    domains: { type: 'string', default: '300000' },
    times: { type: 'string', default: '100' },
    only: { type: 'string', default: '' },
  },
});
const domains = Number(options.domains);
const times = Number(options.times);

/** @typedef {{ nodes?: unknown[], pageInfo?: { hasNextPage: boolean } }} Page */
/** @typedef {{ data: Record<string, Page>, errors?: unknown }} Answer */

const folder = mkdtempSync(join(tmpdir(), 'dms-bench-'));

/** @param {number} most */
const below = (most) => Math.floor(Math.random() * most);
const provider = () => PROVIDERS[below(PROVIDERS.length)];

const RECORD = 'domain { name } record { ... on DnsRecordEntry { host type firstSeen removed } }';
/** @param {string} where */
const records = (where) =>
  `{ dnsRecords(where: {${where}}, first: 100) { nodes { ${RECORD} } pageInfo { hasNextPage endCursor } } }`;
/** @param {string} where */
const headers = (where) =>
  `{ httpHeaders(where: {${where}}, first: 100) { nodes { domain { name } value from to } pageInfo { hasNextPage endCursor } } }`;
/** @param {string} where */
const names = (where) =>
  `{ searchDomains(where: {${where}}, first: 100) { nodes { name created lastUpdate lastChange } pageInfo { hasNextPage endCursor } } }`;

/** Kinds of questions: each makes a new one. @type {[string, () => string][]} */
const QUESTIONS = [
  ['records by an address that a tenth of the domains have', () => records('ip: "198.18.0.1"')],
  ['records by an address of few domains', () => records(`ip: "10.${below(4)}.${below(250)}.${below(250)}"`)],
  ['records by a /24', () => records(`network: "10.${below(4)}.${below(250)}.0/24"`)],
  ['records by a /16', () => records(`network: "10.${below(4)}.0.0/16"`)],
  [
    'records by an IPv6 /112',
    () => records(`network: "2001:db8:0:${below(3) + 1}::${(below(9) + 1).toString(16)}000/116"`),
  ],
  ['records by a name server', () => records(`target: "ns1.${provider()}"`)],
  ['records by all hosts below a name', () => records(`target: "*.${provider()}"`)],
  [
    'the same that are present, as of a time',
    () => records(`target: "*.${provider()}", present: true, at: "2024-06-01T00:00:00Z"`),
  ],
  [
    'records by a name server, seen within a month',
    () =>
      records(
        `target: "ns2.${provider()}", seenFrom: "2024-03-01T00:00:00Z", seenTo: "2024-04-01T00:00:00Z"`,
      ),
  ],
  [
    'records by a name server that were removed',
    () => records(`target: "ns1.${provider()}", present: false`),
  ],
  ['records by a common part of a text', () => records('text: "include:"')],
  ['records by a rare part of a text', () => records(`text: "verification=${below(domains)}"`)],
  ['records by a part of a text without letters', () => records('text: "=1 "')],
  ['records by owner name', () => records(`host: "shop${below(domains)}.com"`)],
  ['records by a pattern of owner names', () => records(`host: "*op${below(1000)}*"`)],
  ['records by an address and a type', () => records('ip: "198.18.0.1", types: ["A"], present: true')],
  ['headers by a common value', () => headers(`name: "server", value: "nginx/1.${below(20)}.0"`)],
  [
    'headers by a unique value',
    () => headers(`name: "etag", value: "\\"${below(domains).toString(16)}-18d\\""`),
  ],
  ['headers by a common part', () => headers('name: "server", contains: "nginx"')],
  [
    'headers by a rare part',
    () => headers(`name: "etag", contains: "${(below(domains) + 4096).toString(16)}"`),
  ],
  ['headers by a part that each domain has', () => headers('name: "etag", contains: "-18d"')],
  ['domains by suffix', () => names(`match: "*${below(1000)}.net"`)],
  ['domains by prefix', () => names(`match: "blog${below(1000)}*"`)],
  ['domains by a common part', () => names('match: "*shop*"')],
  ['domains by a rare part', () => names(`match: "*og${below(domains)}*"`)],
  ['domains below a registrable domain', () => names(`registrableDomain: "shop${below(domains)}.com"`)],
  [
    'domains that changed within an hour',
    () => {
      const day = `2024-07-${String(below(20) + 1).padStart(2, '0')}`;
      return names(`changedFrom: "${day}T05:00:00Z", changedTo: "${day}T06:00:00Z"`);
    },
  ],
  ['domains created after a time', () => names('createdFrom: "2024-02-01T00:00:00Z"')],
  [
    'a page of the feed',
    () =>
      '{ changes(first: 100) { nodes { id domain { name } kind date } pageInfo { hasNextPage endCursor } } }',
  ],
  [
    'the newest changes',
    () =>
      '{ changes(first: 100, order: NEWEST_FIRST) { nodes { id domain { name } kind date } pageInfo { hasNextPage endCursor } } }',
  ],
  [
    'removals only',
    () =>
      '{ changes(first: 100, kinds: [DNS_RECORD_REMOVED]) { nodes { id domain { name } kind date } pageInfo { hasNextPage endCursor } } }',
  ],
  ['statistics', () => '{ statistics { domains dnsRecords httpHeaders changes lastRecordedAt } }'],
];

await main();

async function main() {
  const serverUrl = process.env['DATABASE_URL'];
  if (!serverUrl) {
    console.error('Set DATABASE_URL to a PostgreSQL server: the figures are for PostgreSQL.');
    process.exitCode = 1;
    return;
  }
  const database = await createScratchDatabase(serverUrl);
  const client = new pg.Client({ connectionString: database.url });
  try {
    await run(process.execPath, [inCheckout('bin/dms.js'), 'migrate'], { DATABASE_URL: database.url });
    await client.connect();
    console.error(`Filling ${domains} domains`);
    await fillForQuestions(client, domains);
    const server = await startServer(
      [inCheckout('bin/dms.js'), 'serve'],
      { DATABASE_URL: database.url, SAMPLES: 'off', RATE_LIMIT_ANONYMOUS: '1000000000', LOG_LEVEL: 'error' },
      join(folder, 'server.log'),
    );
    try {
      printTable(
        ['question', 'matches', 'pages short', 'median', '99 of 100', 'longest'],
        await measureAll(server.url),
      );
    } finally {
      await server.stop();
    }
  } finally {
    await client.end();
    await database.drop();
    rmSync(folder, { recursive: true });
  }
}

/** @param {string} path in the checkout */
function inCheckout(path) {
  return fileURLToPath(new URL(`../${path}`, import.meta.url));
}

/** @param {string} url */
async function measureAll(url) {
  const rows = [];
  for (const [title, question] of QUESTIONS.filter(([title]) => title.includes(options.only))) {
    for (let count = 0; count < 3; count += 1) await ask(url, question());
    const answers = [];
    for (let count = 0; count < times; count += 1) answers.push(await ask(url, question()));
    const sorted = answers.map(({ milliseconds }) => milliseconds).sort((one, other) => one - other);
    const at = (/** @type {number} */ part) =>
      `${(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0).toFixed(1)} ms`;
    const short = answers.filter(({ nodes, hasNextPage }) => hasNextPage && nodes < 100).length;
    rows.push([title, median(answers.map(({ nodes }) => nodes)), short, at(0.5), at(0.99), at(1)]);
    console.error(rows.at(-1)?.join(' | '));
  }
  return rows;
}

/**
 * @param {string} url
 * @param {string} query
 */
async function ask(url, query) {
  const begun = performance.now();
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
  const { data, errors } = /** @type {Answer} */ (await response.json());
  if (errors) throw new Error(`${query}: ${JSON.stringify(errors)}`);
  const milliseconds = performance.now() - begun;
  const [page] = Object.values(data);
  return { milliseconds, nodes: page?.nodes?.length ?? 0, hasNextPage: page?.pageInfo?.hasNextPage ?? false };
}
