/**
 * Mercurius in Fastify: it compiles each document when it is first executed, and reads by loaders of its own,
 * on prepared statements. Their cache within a request is off, since its keys cost more than they save.
 */

import fastify from 'fastify';
import mercurius from 'mercurius';
import pg from 'pg';
import { byDomain, dnsRecordsOf, domainOf, httpHeadersOf, typeDefs } from './domain.js';

const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 10 });

const DOMAIN = {
  name: 'domain',
  text: 'SELECT name, created, last_update AS "lastUpdate" FROM domain WHERE name = $1',
};

const DNS_RECORDS = {
  name: 'dns-records',
  text: `SELECT domain AS "domainName", host, class, type, rdata, first_seen AS "firstSeen", removed
           FROM dns_record WHERE domain = ANY ($1)
          ORDER BY domain, first_seen, type, position`,
};

const HTTP_HEADERS = {
  name: 'http-headers',
  text: `SELECT domain AS "domainName", name, observed_at AS "observedAt", value
           FROM header_change WHERE domain = ANY ($1)
          ORDER BY domain, name, observed_at`,
};

/**
 * @template {{ domainName: string }} Row
 * @template Value
 * @param {{ name: string, text: string }} statement
 * @param {(rows: Row[]) => Value} toValue
 */
function loader(statement, toValue) {
  return {
    loader: async (/** @type {{ obj: { name: string } }[]} */ queries) => {
      const names = queries.map(({ obj }) => obj.name);
      const { rows } = await pool.query({ ...statement, values: [names] });
      return byDomain(names, rows, toValue);
    },
    opts: { cache: false },
  };
}

/** Its types lack one of its options. @type {mercurius.MercuriusOptions & { compilerOptions: object }} */
const options = {
  schema: typeDefs,
  resolvers: {
    Query: {
      domain: async (_root, { name }) => {
        const { rows } = await pool.query({ ...DOMAIN, values: [name] });
        return rows[0] ? domainOf(rows[0]) : null;
      },
    },
  },
  loaders: {
    Domain: {
      dnsRecords: loader(DNS_RECORDS, dnsRecordsOf),
      httpHeaders: loader(HTTP_HEADERS, httpHeadersOf),
    },
  },
  jit: 1,
  // The values come from the database as the schema says.
  compilerOptions: { disableLeafSerialization: true },
};

const application = fastify({ logger: false });
application.register(mercurius.default, options);
await application.listen({ port: Number(process.env['PORT']), host: '127.0.0.1' });
