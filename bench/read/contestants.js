import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPeers, nodeFor, PEERS } from '../peers/peers.js';
import { startServer } from '../processes.js';
import { whole } from '../report.js';
import { check, ofGraphql } from './answers.js';
import { domainName } from './fill.js';

/** @typedef {import('../processes.js').RunningServer} RunningServer */

/**
 * A server with one kind of request.
 *
 * @typedef {object} Contestant
 * @property {string} id
 * @property {string} title
 * @property {RunningServer} server
 * @property {string} path before the domain's name, or of the GraphQL endpoint
 * @property {string} [bodyFile] with the GraphQL request for the first domain
 * @property {(answer: any) => object} [answerOf] brings the answer into the form of Get domain
 * @property {'zipf'} [popularity]
 * @property {string} [tagsFile]
 */

/**
 * @typedef {object} Setting
 * @property {string} databaseUrl
 * @property {number} domains
 * @property {string} folder for files of this run
 * @property {RunningServer[]} servers all that are started are added
 * @property {boolean} withPeers
 * @property {string} only a part of the titles of the other servers that take part
 */

export const GET_DOMAIN = '/api/v1/domain/';
const GRAPHQL = '/graphql';

/** Revalidation is measured with at most so many domains: each is asked for its ETag beforehand. */
const MOST_TAGS = 5000;
const TAGS_AT_ONCE = 20;

/**
 * Starts all servers that take part, and checks that those with data answer the same.
 *
 * @param {Setting} setting
 * @returns {Promise<Contestant[]>} the first one is the reference
 */
export async function startContestants(setting) {
  const { databaseUrl, domains } = setting;
  const sql = await start(setting, ['bench/read/hand-written-sql.js'], { DATABASE_URL: databaseUrl });
  const unlimited = {
    DATABASE_URL: databaseUrl,
    RATE_LIMIT_ANONYMOUS: '1000000000',
    RATE_LIMIT_TOKEN: '1000000000',
  };
  const ours = await start(setting, ['bin/dms.js', 'serve'], unlimited);
  const uncached = await start(setting, ['bin/dms.js', 'serve'], { ...unlimited, CACHE_MB: '0' });
  const bodies = await sameBodies(sql, ours, [1, Math.ceil(domains / 2), domains].map(domainName));
  const bodyFile = requestFile(setting, 'bench/read/get-domain.graphql');
  const tagsFile = await collectTags(setting, ours);
  const rest = { server: ours, path: GET_DOMAIN };
  /** @type {Contestant[]} */
  const withData = [
    { id: 'sql', title: 'node:http, hand-written SQL', server: sql, path: GET_DOMAIN },
    { id: 'rest', title: 'this service, REST', server: uncached, path: GET_DOMAIN },
    { id: 'rest-zipf', title: 'this service, REST, Zipf', ...rest, popularity: 'zipf' },
    { id: 'rest-304', title: 'this service, REST, 304', ...rest, tagsFile },
    {
      id: 'graphql',
      title: 'this service, GraphQL POST',
      server: uncached,
      path: GRAPHQL,
      bodyFile,
      answerOf: ofGraphql,
    },
    ...(await startPeers(setting)),
  ];
  for (const contestant of withData) await check(contestant, bodies);
  const [body = ''] = bodies.values();
  console.error(`An answer of Get domain has ${whole(Buffer.byteLength(body))} octets`);
  return [...withData, ...(await startConstants(setting, body))];
}

/**
 * @param {Setting} setting
 * @param {[script: string, ...args: string[]]} command
 * @param {NodeJS.ProcessEnv} environment
 * @param {string} [node] that runs it; ours if absent
 */
async function start({ servers, folder }, [script, ...args], environment, node) {
  const log = join(folder, `${servers.length}.log`);
  const production = { ...environment, NODE_ENV: 'production' };
  const server = await startServer([inCheckout(script), ...args], production, log, node);
  servers.push(server);
  return server;
}

/**
 * @param {Setting} setting
 * @returns {Promise<Contestant[]>}
 */
async function startPeers(setting) {
  const peers = setting.withPeers ? PEERS.filter((peer) => takesPart(setting, peer)) : [];
  if (peers.length > 0) await installPeers();
  const contestants = [];
  for (const peer of peers) {
    const node = nodeFor(peer);
    if (node === undefined) {
      console.error(`${peer.title} is left out: it needs Node ${peer.nodeMajor} or later.`);
      continue;
    }
    const server = await start(setting, [peer.script], { DATABASE_URL: setting.databaseUrl }, node);
    contestants.push({ ...peer, server, path: GRAPHQL, bodyFile: requestFile(setting, peer.document) });
  }
  return contestants;
}

/**
 * @param {Setting} setting
 * @param {string} body that they answer
 * @returns {Promise<Contestant[]>}
 */
async function startConstants(setting, body) {
  const file = join(setting.folder, 'answer.json');
  writeFileSync(file, body);
  const constants = [
    { id: 'node', title: 'node:http, constant body', script: 'bench/read/node-constant.js' },
    { id: 'express', title: 'Express 5, constant body', script: 'bench/read/express-constant.js' },
  ].filter((constant) => takesPart(setting, constant));
  const contestants = [];
  for (const { id, title, script } of constants) {
    const server = await start(setting, [script], { BODY_FILE: file });
    contestants.push({ id, title, server, path: GET_DOMAIN });
  }
  return contestants;
}

/**
 * @param {Setting} setting
 * @param {{ title: string }} contestant
 */
function takesPart({ only }, { title }) {
  return title.toLowerCase().includes(only.toLowerCase());
}

/**
 * Holds the reference and the service to the same work: their answers are the same octets.
 *
 * @param {RunningServer} sql
 * @param {RunningServer} ours
 * @param {string[]} names
 * @returns {Promise<Map<string, string>>} the bodies, by the domain's name
 */
async function sameBodies(sql, ours, names) {
  const bodies = new Map();
  for (const name of names) {
    const path = GET_DOMAIN + name;
    const [expected, found] = await Promise.all(
      [sql, ours].map(async ({ url }) => (await fetch(url + path)).text()),
    );
    if (expected !== found) throw new Error(`${path} differs:\n${expected}\n${found}`);
    bodies.set(name, found);
  }
  return bodies;
}

/**
 * @param {Setting} setting
 * @param {string} document in the checkout
 * @returns {string} the file with the request for the first domain
 */
function requestFile({ folder }, document) {
  const query = readFileSync(inCheckout(document), 'utf8');
  const file = join(folder, `${basename(document)}.json`);
  writeFileSync(file, JSON.stringify({ query, variables: { name: domainName(1) } }));
  return file;
}

/**
 * Asks for the ETags of domains from the first to the last one, and tries them once.
 *
 * @param {Pick<Setting, 'domains' | 'folder'>} setting
 * @param {RunningServer} ours
 * @returns {Promise<string>} the file with them
 */
export async function collectTags({ domains, folder }, ours) {
  const count = Math.min(domains, MOST_TAGS);
  const names = Array.from({ length: count }, (_, index) =>
    domainName(1 + Math.floor((index * domains) / count)),
  );
  const lines = [];
  while (lines.length < count) {
    const some = names.slice(lines.length, lines.length + TAGS_AT_ONCE);
    lines.push(...(await Promise.all(some.map((name) => lineOfTag(ours.url + GET_DOMAIN, name)))));
  }
  const file = join(folder, 'tags.txt');
  writeFileSync(file, lines.join(''));
  return file;
}

/**
 * @param {string} url before the name
 * @param {string} name
 * @returns {Promise<string>} a line for random-domain.lua
 */
async function lineOfTag(url, name) {
  const { headers } = await fetch(url + name, { method: 'HEAD' });
  const tag = headers.get('etag') ?? '';
  const { status } = await fetch(url + name, { headers: { 'if-none-match': tag } });
  if (status !== 304) throw new Error(`${name} with its ETag ${tag} is answered ${status}`);
  return `${name} ${tag}\n`;
}

/** @param {string} path in the checkout */
export function inCheckout(path) {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url));
}
