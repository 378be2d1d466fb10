/**
 * The answers of all contestants in one form, that of Get domain, so that they can be compared: who reads less
 * or makes less of it would win unfairly.
 */

import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { httpHeadersOf, timestamp } from '../peers/domain.js';
import { domainName } from './fill.js';

/** @typedef {import('./contestants.js').Contestant} Contestant */

/**
 * @param {any} answer to read/get-domain.graphql
 * @returns {object} the body of Get domain
 */
export function ofGraphql({ data: { domain } }) {
  const { name, dnsRecords, httpHeaders, ...times } = domain;
  return {
    domain: name,
    ...times,
    dnsRecords: dnsRecords.map((/** @type {any} */ { firstSeen, removed, minimumTtl, ...data }) => ({
      data: minimumTtl === undefined ? data : { ...data, 'minimum-ttl': minimumTtl },
      firstSeen,
      removed,
    })),
    httpHeaders,
  };
}

/**
 * @param {any} answer to peers/postgraphile.graphql
 * @returns {object} the body of Get domain
 */
export function ofPostgraphile({ data: { domainByName } }) {
  const { name, created, lastUpdate, dnsRecordsByDomainList, headerChangesByDomainList } = domainByName;
  return {
    domain: name,
    created: timestamp(created),
    lastUpdate: timestamp(lastUpdate),
    dnsRecords: dnsRecordsByDomainList.map((/** @type {any} */ { firstSeen, removed, rdata, ...owner }) => ({
      data: { ...owner, ...rdata },
      firstSeen: timestamp(firstSeen),
      removed: removed && timestamp(removed),
    })),
    httpHeaders: httpHeadersOf(headerChangesByDomainList),
  };
}

/**
 * Asks a contestant for domains, and holds its answers against those that are right.
 *
 * @param {Contestant} contestant
 * @param {ReadonlyMap<string, string>} bodies of Get domain, by name
 * @returns {Promise<void>}
 * @throws {Error} with both, if they differ
 */
export async function check({ title, server, path, bodyFile, answerOf = (answer) => answer }, bodies) {
  for (const [name, expected] of bodies) {
    const response = await (bodyFile === undefined
      ? fetch(server.url + path + name)
      : fetch(server.url + path, {
          method: 'POST',
          headers: { 'content-type': 'application/json', accept: 'application/json' },
          body: readFileSync(bodyFile, 'utf8').replace(domainName(1), name),
        }));
    const text = await response.text();
    if (!isDeepStrictEqual(attempt(answerOf, text), JSON.parse(expected)))
      throw new Error(`${title} differs for ${name}, with status ${response.status}:\n${expected}\n${text}`);
  }
}

/**
 * @param {(answer: any) => unknown} answerOf
 * @param {string} text
 * @returns {unknown} undefined, which equals no answer, if it has another form, such as that of an error
 */
function attempt(answerOf, text) {
  try {
    return answerOf(JSON.parse(text));
  } catch {
    return undefined;
  }
}
