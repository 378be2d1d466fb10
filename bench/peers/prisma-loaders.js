/** The resolvers of the peers that read by Prisma: loaders for each request, on the model API. */

import { createHash } from 'node:crypto';
import { PrismaPg } from '@prisma/adapter-pg';
import DataLoader from 'dataloader';
// The service's own client, of the same tables. A client compiles each statement once, so that it does not
// matter here with which of Prisma's two compilers it is generated.
import { PrismaClient } from '../../dist/database/generated/client.js';
import { byDomain, dnsRecordsOf, domainOf, httpHeadersOf } from './domain.js';

/** @typedef {ReturnType<typeof createLoaders>} Loaders */
/** @typedef {{ loaders: Loaders }} Context */

/** @type {Map<string, string>} */
const statementNames = new Map();

const connections = { connectionString: process.env['DATABASE_URL'] ?? '', max: 10 };
/** @type {unknown} what is built has no types */
const client = new PrismaClient({ adapter: new PrismaPg(connections, { statementNameGenerator }) });
const prisma = /** @type {import('../../src/database/generated/client.js').PrismaClient} */ (client);

/**
 * With names, PostgreSQL prepares each statement once for each connection.
 *
 * @param {{ sql: string }} query
 */
function statementNameGenerator({ sql }) {
  const known = statementNames.get(sql);
  if (known !== undefined) return known;
  const name = createHash('sha256').update(sql).digest('hex').slice(0, 32);
  statementNames.set(sql, name);
  return name;
}

export function createLoaders() {
  return {
    domains: new DataLoader(async (/** @type {readonly string[]} */ names) => {
      const rows = await prisma.domain.findMany({
        select: { name: true, created: true, lastUpdate: true },
        where: { name: { in: [...names] } },
      });
      const found = new Map(rows.map((row) => [row.name, domainOf(row)]));
      return names.map((name) => found.get(name) ?? null);
    }),
    dnsRecords: new DataLoader(async (/** @type {readonly string[]} */ names) => {
      const rows = await prisma.dnsRecord.findMany({
        select: {
          domainName: true,
          host: true,
          class: true,
          type: true,
          rdata: true,
          firstSeen: true,
          removed: true,
        },
        where: { domainName: { in: [...names] } },
        orderBy: [{ firstSeen: 'asc' }, { type: 'asc' }, { position: 'asc' }],
      });
      return byDomain(names, rows, dnsRecordsOf);
    }),
    httpHeaders: new DataLoader(async (/** @type {readonly string[]} */ names) => {
      const rows = await prisma.headerChange.findMany({
        select: { domainName: true, name: true, observedAt: true, value: true },
        where: { domainName: { in: [...names] } },
        orderBy: [{ name: 'asc' }, { observedAt: 'asc' }],
      });
      return byDomain(names, rows, httpHeadersOf);
    }),
  };
}

export const resolvers = {
  Query: {
    domain: (
      /** @type {unknown} */ _root,
      /** @type {{ name: string }} */ { name },
      /** @type {Context} */ { loaders },
    ) => loaders.domains.load(name),
  },
  Domain: {
    dnsRecords: (
      /** @type {{ name: string }} */ { name },
      /** @type {unknown} */ _arguments,
      /** @type {Context} */ { loaders },
    ) => loaders.dnsRecords.load(name),
    httpHeaders: (
      /** @type {{ name: string }} */ { name },
      /** @type {unknown} */ _arguments,
      /** @type {Context} */ { loaders },
    ) => loaders.httpHeaders.load(name),
  },
};
