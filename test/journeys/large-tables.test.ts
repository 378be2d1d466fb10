import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openConnections } from '../../src/database/client.js';
import { TEST_SERVER } from '../support/database.js';
import { IS_LONG, repeats } from '../support/long-form.js';
import { HAS_POSTGRESQL, PostgresqlCluster } from '../support/postgresql-cluster.js';
import { runDms } from './dms-command.js';

/** With PostgreSQL's defaults, several processes read a table of 8 MB or more: 150,000 records have 20 MB. */
const DOMAINS = repeats(50_000, 200);

const SETTINGS: Readonly<Record<string, string>> = IS_LONG ? {} : { min_parallel_table_scan_size: '0' };

/** Domains, each with two addresses and a text. */
const STORED = `
  INSERT INTO domain (name, version, recorded_at, created, last_update, dns_types)
  SELECT 'd' || number || '.example', 1, 1, 1, 1, '{}' FROM generate_series(1, ${DOMAINS}) AS number;
  INSERT INTO dns_record (domain, first_seen, type, position, host, class, rdata)
  SELECT name, 1, type, 0, name, 'IN', rdata
    FROM domain, (VALUES ('A', '{"ip":"192.0.2.7"}'::json), ('AAAA', '{"ipv6":"2001:db8::7"}'),
                         ('TXT', '{"txt":"text","entries":["text"]}')) AS record (type, rdata)`;

// On a server of its own, whichever home the other tests have: once is enough.
describe.skipIf(!HAS_POSTGRESQL || TEST_SERVER !== undefined)(
  'tables that PostgreSQL reads with several processes',
  () => {
    let cluster: PostgresqlCluster;
    let commands: readonly string[];

    beforeAll(async () => {
      cluster = await PostgresqlCluster.start({ ...SETTINGS, fsync: 'off' });
      const [, section = ''] = (await readFile('docs/operating.md', 'utf8')).split('server: dumps\n');
      commands = [...section.matchAll(/^.*\b(?:pg_dump|createdb|pg_restore) --.*$/gm)].map(([line]) => line);
    });
    afterAll(async () => {
      await cluster?.remove();
    });

    const url = (database: string) => new URL(`/${database}`, cluster.url).href;

    async function run(database: string, ...statements: readonly string[]): Promise<void> {
      const { pool, close } = await openConnections({ databaseUrl: url(database), dataDirectory: '/none' });
      try {
        for (const statement of statements) await pool.query(statement);
      } finally {
        await close();
      }
    }

    const dms = (database: string, ...args: readonly string[]) =>
      runDms(args, { DATABASE_URL: url(database) });

    /** Dumps a database and restores it into a new one, as docs/operating.md says. */
    async function restore(from: string, to: string): Promise<void> {
      const environment = { DATABASE_URL: url(from), RESTORED_URL: url('restored') };
      await cluster.run('DROP DATABASE IF EXISTS restored', `DROP DATABASE IF EXISTS ${to}`);
      await cluster.shell(commands.join('\n'), environment);
      await cluster.run(`ALTER DATABASE restored RENAME TO ${to}`);
    }

    async function findsAddresses(database: string): Promise<void> {
      for (const ip of ['192.0.2.7', '2001:db8::7']) {
        const { stdout } = await dms(database, 'search', '--ip', ip, '--json', '--limit', '2');
        expect(stdout.split('\n').filter((line) => line.includes(ip))).toHaveLength(2);
      }
    }

    test('are indexed by these', async () => {
      await cluster.run('CREATE DATABASE current');
      expect(await dms('current', 'migrate')).toMatchObject({ code: 0 });
      await run('current', STORED);
      await findsAddresses('current');
    });

    test('are indexed anew, divided into partitions, vacuumed, and restored from a dump', async () => {
      await run('current', 'REINDEX TABLE dns_record', 'REINDEX TABLE CONCURRENTLY dns_record');
      expect(await dms('current', 'migrate', '--partitions', '2')).toMatchObject({ code: 0 });
      await run('current', 'REINDEX TABLE dns_record', 'VACUUM (ANALYZE) dns_record');
      await restore('current', 'again');
      await findsAddresses('again');
    });
  },
);
