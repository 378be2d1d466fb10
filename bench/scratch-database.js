import { randomBytes } from 'node:crypto';
import pg from 'pg';

/**
 * @typedef {object} ScratchDatabase
 * @property {string} url
 * @property {() => Promise<void>} drop
 */

/**
 * Makes a database of our own on the server that DATABASE_URL names; what else is there stays untouched.
 *
 * @param {string} serverUrl
 * @returns {Promise<ScratchDatabase>}
 */
export async function createScratchDatabase(serverUrl) {
  const name = `dms_bench_${randomBytes(6).toString('hex')}`;
  await onServer(serverUrl, `CREATE DATABASE ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => onServer(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

/**
 * @param {string} url
 * @param {string} statement
 */
async function onServer(url, statement) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
