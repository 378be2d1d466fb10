import { readFileSync } from 'node:fs';
import { PrismaPg } from '@prisma/adapter-pg';
import { expect, test } from 'vitest';
import { PrismaClient } from '../../src/database/generated/client.js';
import { databaseOfFile } from '../support/database.js';

const database = databaseOfFile();

/** PostgreSQL's name of the type that Prisma's stands for, unless a field names another with @db. */
const TYPES: Readonly<Record<string, string>> = {
  ...{ BigInt: 'int8', Boolean: 'bool', Bytes: 'bytea', DateTime: 'timestamp' },
  ...{ Float: 'float8', Int: 'int4', Json: 'jsonb', String: 'text' },
};

const schema = readFileSync('prisma/schema.prisma', 'utf8').replace(/\/\/.*$/gm, '');

const models = [...schema.matchAll(/^model (\w+) \{\n(.*?)^\}/gms)]
  .map(([, name = '', body = '']) => ({
    table: /@@map\("(\w+)"\)/.exec(body)?.[1] ?? name,
    key: /@@id\(\[([^\]]*)\]\)/.exec(body)?.[1]?.split(/,\s*/) ?? [],
    fields: [...body.matchAll(/^ +([a-z]\w*) +(\w+)(\[\]|\?)?(.*)$/gm)]
      .map(([, field = '', type = '', suffix = '', attributes = '']) => ({ field, type, suffix, attributes }))
      // A field of the type of a model is a relation, and no column.
      .filter(({ type }) => !schema.includes(`model ${type} {`)),
  }))
  .sort((one, other) => (one.table < other.table ? -1 : 1));

type Field = (typeof models)[number]['fields'][number];

function columnOf({ field, attributes }: Field): string {
  return /@map\("(\w+)"\)/.exec(attributes)?.[1] ?? field;
}

function typeOf({ type, suffix, attributes }: Field): string {
  const base = /@db\.(\w+)/.exec(attributes)?.[1]?.toLowerCase() ?? TYPES[type] ?? `unknown type ${type}`;
  return suffix === '[]' ? `_${base}` : base;
}

test('Prisma’s models have exactly the columns of the migrated tables, their types and nullability', async () => {
  const expected = models.map(({ table, fields }) => ({
    table,
    columns: fields.map((field) => `${columnOf(field)} ${typeOf(field)} ${field.suffix === '?'}`),
  }));
  const { rows } = await database.pool.query(
    `SELECT table_name::text AS "table", array_agg(concat_ws(' ', column_name, udt_name,
            CASE is_nullable WHEN 'YES' THEN 'true' ELSE 'false' END) ORDER BY ordinal_position) AS columns
     FROM information_schema.columns
     WHERE table_schema = current_schema() AND table_name <> 'schema_migration'
       AND table_name NOT IN (SELECT relname FROM pg_class WHERE relispartition)
     GROUP BY table_name ORDER BY table_name`,
  );
  expect(models.length).toBeGreaterThan(0);
  expect(rows).toEqual(expected);
});

test('Prisma’s models have exactly the primary keys of the migrated tables', async () => {
  const expected = models.map(({ table, key, fields }) => {
    const named = key.map((name) => fields.find(({ field }) => field === name)).filter((field) => !!field);
    const single = fields.filter(({ attributes }) => /@id\b/.test(attributes));
    return { table, columns: [...single, ...named].map(columnOf) };
  });
  const { rows } = await database.pool.query(
    `SELECT conrelid::regclass::text AS "table",
            (SELECT array_agg(attname::text ORDER BY place)
             FROM unnest(conkey) WITH ORDINALITY AS key (number, place)
             JOIN pg_attribute ON attrelid = conrelid AND attnum = key.number) AS columns
     FROM pg_constraint
     WHERE contype = 'p' AND connamespace = current_schema()::regnamespace
       AND conrelid::regclass::text <> 'schema_migration' AND conparentid = 0
     ORDER BY 1`,
  );
  expect(rows).toEqual(expected);
});

test('the database has no foreign keys: the model API leaves nothing to them', async () => {
  const { rows } = await database.pool.query("SELECT conname FROM pg_constraint WHERE contype = 'f'");
  expect(rows).toEqual([]);
});

test('a write by the model API is one statement with its whole condition', async () => {
  const adapter = new PrismaPg(database.pool);
  const prisma = new PrismaClient({ adapter, log: [{ emit: 'event', level: 'query' }] });
  const statements: string[] = [];
  prisma.$on('query', ({ query }) => statements.push(query));
  await prisma.accessToken.updateMany({ where: { name: 'x', revokedAt: null }, data: { revokedAt: 1n } });
  await prisma.domain.deleteMany({ where: { name: 'x' } });
  await prisma.dnsRecord.deleteMany({ where: { domainName: 'x', domain: { isNot: {} } } });
  await prisma.importCount.upsert({
    where: { outcome: 'x' },
    create: { outcome: 'x', lines: 1n },
    update: { lines: { increment: 1n } },
  });
  await prisma.$disconnect();
  expect(statements).toEqual([
    expect.stringMatching(/^UPDATE .* WHERE .*"name" = .* AND .*"revoked_at" IS NULL/),
    expect.stringMatching(/^DELETE FROM \S*"domain" WHERE /),
    expect.stringMatching(/^DELETE FROM \S*"dns_record" WHERE .* NOT EXISTS/),
    expect.stringMatching(/^INSERT INTO .* ON CONFLICT .* DO UPDATE SET /),
  ]);
});
