import { existsSync } from 'node:fs';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { serveLocally } from '../journeys/serving.js';
import { prepareCommands } from '../support/commands.js';
import { IS_POOLED, TEST_SERVER } from '../support/database.js';
import { type DnsTestServer, startDnsServer } from '../support/dns-server.js';
import { freePort } from '../support/free-port.js';
import { HAS_REDIS, startRedis } from '../support/redis-server.js';

const PASSWORD = 'sekret-w0rd';
const INVENTED = '0.0.0.0';
const NOTHING_LISTENS = '127.0.0.1:9';

const [honest, inventing] = [await startDnsServer(), await startDnsServer()];
inventing.invent((_name, type) => (type === 'A' ? [INVENTED] : []));
afterAll(() => Promise.all([honest.close(), inventing.close()]));

const addressOf = ({ address, port }: DnsTestServer) => `${address}:${port}`;

const commands = prepareCommands({ settings: () => ({ DNS_SERVERS: addressOf(honest), PORT: '0' }) });

type Environment = Readonly<Record<string, string>>;

const doctor = (environment: Environment, ...options: readonly string[]) =>
  commands.dms(['doctor', ...options], '', environment);

/** The exit code, and what a check finds, a line each. */
async function found(check: string, environment: Environment): Promise<string> {
  const { code, stdout, stderr } = await doctor(environment, '--json', '--quiet');
  expect(stderr).toBe('');
  const lines = stdout.trimEnd().split('\n');
  const wanted = lines.map((line) => JSON.parse(line)).filter((finding) => finding.check === check);
  return [`${code}`, ...wanted.map(({ status, message }) => `${status}: ${message}`)].join('\n');
}

test('dms doctor writes a line for each check, and exits 0 where all is well', async () => {
  const { code, stdout, stderr } = await doctor({});
  const checks = 'clock resolvers database redis proxy ports disk'.split(' ');
  expect(stdout.match(/^\S+ +\S+/gm)?.map((line) => line.split(/ +/))).toEqual(
    checks.map((check) => ['ok', check]),
  );
  expect(stdout).toContain(`${addressOf(honest)} answers, and invents no addresses.`);
  expect([code, stderr]).toEqual([0, '0 checks failed, 0 warnings.\n']);
});

const WARNING =
  'for names that do not exist. Such answers are not recorded: name another resolver in DNS_SERVERS.';
const SILENT = `The resolver ${NOTHING_LISTENS} is silent, or refuses: name one in DNS_SERVERS that answers this machine.`;

test('dms doctor warns of a resolver that invents addresses, or is silent beside another', async () => {
  const servers = [addressOf(inventing), NOTHING_LISTENS, addressOf(honest)];
  expect(await found('resolvers', { DNS_SERVERS: servers.join() })).toBe(
    `0\nwarning: The resolver ${servers[0]} gives ${INVENTED} ${WARNING}\nwarning: ${SILENT}\n` +
      `ok: The resolver ${servers[2]} answers, and invents no addresses.`,
  );
});

test('dms doctor fails where no resolver answers, unless the process does not observe', async () => {
  const silent = { DNS_SERVERS: NOTHING_LISTENS };
  expect(await found('resolvers', silent)).toBe(`1\nfailed: ${SILENT}`);
  const api = '0\nok: ROLE is api: this process does not observe.';
  expect(await found('resolvers', { ...silent, ROLE: 'api' })).toBe(api);
});

test('dms doctor fails for a database that is away, told without its password', async () => {
  const away = { DATABASE_URL: `postgresql://user:${PASSWORD}@${NOTHING_LISTENS}/dms` };
  expect(await found('database', away)).toBe(
    `1\nfailed: DATABASE_URL: cannot connect to PostgreSQL dms at ${NOTHING_LISTENS}: connect ECONNREFUSED ${NOTHING_LISTENS}.`,
  );
  const { stdout, stderr } = await doctor(away);
  expect(stdout + stderr).not.toContain(PASSWORD);
});

test('dms doctor warns of a database that is not there yet, and makes none', async () => {
  // A setting that is empty counts as unset.
  const environment = { DATABASE_URL: '', DATA_DIR: commands.pathOf('data') };
  expect(await found('database', environment)).toMatch(
    /^0\nwarning: There is no database in .* dms serve makes a new one\.$/,
  );
  expect(await found('disk', environment)).toMatch(/^0\nok: [\d,]+ MB are free .*$/);
  expect(existsSync(environment.DATA_DIR)).toBe(false);
});

test('dms doctor warns of a database that lacks a migration, and fails for one of a later version', async () => {
  const { pool } = commands.database;
  const rename = (from: string, to: string) =>
    pool.query('UPDATE schema_migration SET name = $2 WHERE name = $1', [from, to]);
  const { rows } = await pool.query<{ name: string; checksum: string; applied_at: bigint }>(
    'DELETE FROM schema_migration WHERE name = (SELECT max(name) FROM schema_migration) RETURNING *',
  );
  expect(await found('database', {})).toMatch(/^0\nwarning: .* lacks 1 migration: run dms migrate; .*$/);
  for (const { name, checksum, applied_at } of rows) {
    await pool.query('INSERT INTO schema_migration VALUES ($1, $2, $3)', [name, checksum, applied_at]);
  }
  await rename('0001_baseline', '9999_of_tomorrow');
  expect(await found('database', {})).toMatch(
    /^1\nfailed: The database has the migration 9999_of_tomorrow, which this version .*$/,
  );
  await rename('9999_of_tomorrow', '0001_baseline');
  expect(await found('database', {})).toMatch(/^0\nok: .*$/);
});

test.skipIf(IS_POOLED)('dms doctor fails for a database that is read-only, with what to do', async () => {
  const { pool } = commands.database;
  const { rows } = await pool.query<{ name: string }>('SELECT current_database() AS name');
  // The connections of the embedded database share one session.
  const subject = TEST_SERVER === undefined ? '' : `ALTER DATABASE ${rows[0]?.name} `;
  await pool.query(`${subject}SET default_transaction_read_only = on`);
  try {
    expect(await found('database', {})).toMatch(
      /^1\nfailed: The database is read-only, .* Set DATABASE_URL to one that can .*$/,
    );
  } finally {
    const client = await pool.connect();
    await client.query('SET default_transaction_read_only = off');
    await client.query(`${subject}RESET default_transaction_read_only`);
    client.release();
  }
});

/** Lets the clock of this process be wrong; that of the database's is right. */
const setClock = (time: number) => {
  vi.useFakeTimers({ toFake: ['Date'], now: time });
  onTestFinished(() => void vi.useRealTimers());
};

test('dms doctor warns of a clock that differs from that of the database', async () => {
  setClock(Date.now() + 3_600_000);
  expect(await found('clock', {})).toMatch(
    /^0\nok: .*\nwarning: The database's clock is 3,[56]\d\d seconds behind this machine's: .*$/,
  );
});

test('dms doctor fails for a clock that stands at 1970', async () => {
  setClock(0);
  expect(await found('clock', {})).toMatch(
    /^1\nfailed: The clock says 1970-01-01T00:00:00.* set it, by NTP say\.\nwarning: The database's clock is [\d,]+ seconds ahead of this machine's: .*$/,
  );
});

test('dms doctor fails for a Redis that is away, told without its password', async () => {
  expect(await found('redis', { REDIS_URL: `redis://user:${PASSWORD}@${NOTHING_LISTENS}` })).toBe(
    `1\nfailed: connect ECONNREFUSED ${NOTHING_LISTENS}: check the host, the port and the scheme, rediss:// with TLS, in REDIS_URL.`,
  );
});

test.skipIf(!HAS_REDIS)(
  'dms doctor has a Redis that takes counts for well, and tells a wrong password and a full memory',
  async () => {
    const redis = await startRedis({ password: PASSWORD });
    onTestFinished(() => redis.close());
    const urlOf = (password: string) => `redis://:${password}@127.0.0.1:${redis.port}`;
    const right = { REDIS_URL: urlOf(PASSWORD) };
    expect(await found('redis', right)).toBe('0\nok: It takes the counts of rate limits.');
    expect(await found('redis', { REDIS_URL: urlOf('wr0ng-word') })).toBe(
      "1\nfailed: Redis responds with WRONGPASS: check the user, the password and the database's number in REDIS_URL.",
    );
    const { Redis } = await import('ioredis');
    const client = new Redis(right.REDIS_URL);
    await client.config('SET', 'maxmemory', '1');
    client.disconnect();
    expect(await found('redis', right)).toBe(
      '1\nfailed: Redis responds with OOM: check its maxmemory, and that maxmemory-policy is not noeviction.',
    );
  },
);

test('dms doctor warns of what other machines could do without a token, or past the proxy', async () => {
  const host = '0.0.0.0';
  expect(await found('proxy', { HOST: host })).toMatch(
    /^0\nwarning: Note that everyone who can reach this service can read .*AUTH_REQUIRED=all.*\nok: TRUST_PROXY is not set, which is right without a proxy\. .*$/,
  );
  const guarded = { HOST: host, AUTH_REQUIRED: 'all' };
  expect(await found('proxy', { ...guarded, TRUST_PROXY: '1' })).toMatch(
    /^0\nwarning: TRUST_PROXY is 1 and HOST is 0\.0\.0\.0: who reaches this port past the proxy .*$/,
  );
  expect(await found('proxy', { ...guarded, TRUST_PROXY: '192.0.2.1' })).toBe(
    '0\nok: TRUST_PROXY is 192.0.2.1: as many proxies, or these, name the address of a client.',
  );
});

test('dms doctor has ports that are free for well, and those of the service itself', async () => {
  const port = String(await freePort());
  expect(await found('ports', { PORT: port })).toBe(`0\nok: Port ${port} of 127.0.0.1 is free.`);
  const service = await serveLocally({ ...commands.database.environment, ROLE: 'api' });
  onTestFinished(() => service.close());
  const own = new URL(service.url).port;
  expect(await found('ports', { PORT: own })).toBe(`0\nok: This service is at port ${own} of 127.0.0.1.`);
});

test('dms doctor fails for ports that another program has, or that are to be two things', async () => {
  const other = String(honest.port);
  expect(await found('ports', { METRICS_PORT: other })).toBe(
    `1\nok: PORT=0 takes a free one.\nfailed: Port ${other} of 127.0.0.1 is in use: set METRICS_PORT to a free one, such as METRICS_PORT=${Number(other) + 1}.`,
  );
  expect(await found('ports', { PORT: '4999', METRICS_PORT: '4999' })).toBe(
    '1\nfailed: PORT and METRICS_PORT are both 4999: set one of them to another port.',
  );
});

test('dms doctor fails for a data folder that cannot be made', async () => {
  const file = await commands.file('file', '');
  expect(await found('disk', { DATABASE_URL: '', DATA_DIR: `${file}/data` })).toMatch(
    /^1\nfailed: The data folder .* cannot be used: ENOTDIR.* Set DATA_DIR to a folder .*$/,
  );
});
