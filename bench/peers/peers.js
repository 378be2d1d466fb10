/** The peers, and their installation. */

import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { install, isInstalled } from '../../scripts/install.js';
import { ofGraphql, ofPostgraphile } from '../read/answers.js';

const FOLDER = dirname(fileURLToPath(import.meta.url));
const GET_DOMAIN = 'bench/read/get-domain.graphql';

/**
 * @typedef {object} Peer
 * @property {string} id
 * @property {string} title
 * @property {string} script in the checkout
 * @property {string} document of the GraphQL request, in the checkout
 * @property {(answer: any) => object} answerOf brings the answer into the form of Get domain
 * @property {number} [nodeMajor] the oldest Node that it supports, where that is newer than ours may be
 */

/** @type {Peer[]} */
export const PEERS = [
  {
    id: 'apollo',
    title: 'Apollo Server, Express, Prisma',
    script: 'bench/peers/apollo.js',
    document: GET_DOMAIN,
    answerOf: ofGraphql,
  },
  {
    id: 'yoga',
    title: 'GraphQL Yoga, Prisma',
    script: 'bench/peers/yoga.js',
    document: GET_DOMAIN,
    answerOf: ofGraphql,
  },
  {
    id: 'mercurius',
    title: 'Mercurius with JIT, pg',
    script: 'bench/peers/mercurius.js',
    document: GET_DOMAIN,
    answerOf: ofGraphql,
  },
  {
    id: 'postgraphile',
    title: 'PostGraphile 5',
    script: 'bench/peers/postgraphile.js',
    document: 'bench/peers/postgraphile.graphql',
    answerOf: ofPostgraphile,
    nodeMajor: 22,
  },
];

/**
 * Installs what the peers depend on, where that is needed.
 *
 * @returns {Promise<void>}
 */
export async function installPeers() {
  if (isInstalled(FOLDER, { development: false })) return;
  console.error('Installing the peers (npm ci in bench/peers)');
  await install(FOLDER);
}

/**
 * @param {Peer} peer
 * @returns {string | undefined} the Node that runs it: ours, or the one among its packages where ours is too old;
 *   undefined where there is none for this kind of machine
 */
export function nodeFor({ nodeMajor = 0 }) {
  if (Number.parseInt(process.versions.node, 10) >= nodeMajor) return process.execPath;
  try {
    return createRequire(import.meta.url).resolve(`node-${process.platform}-${process.arch}/bin/node`);
  } catch {
    return undefined;
  }
}
