import { spawnSync } from 'node:child_process';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { typeNumber } from '../../src/model/dns-types.js';
import { MasterText } from '../../src/model/master-text.js';
import { rdataOctets } from '../../src/model/rdata-text.js';
import { emptyTestDatabase, openTestDatabase, type TestDatabase } from '../support/database.js';
import { type DebianServers, HAS_DEBIAN_SERVERS, startDebianServers } from '../support/debian-servers.js';
import { RDATA_EXAMPLES } from '../support/rdata-examples.js';
import { REJECTING_PORT } from '../support/web-server.js';
import { runDms, startDms } from './dms-command.js';

const DOMAIN = 'all.example.test';
/** Rdata that a server gives to a question for it: not NSEC3 (RFC 5155, section 7.2.8). */
const ANSWERED = RDATA_EXAMPLES.filter(([type]) => type !== 'NSEC3');

/** The types that nsd 4.6 does not know by their names. */
const UNKNOWN_TO_NSD = new Set(
  'AMTRELAY BRID DSYNC HHIT KEY NINFO NSAP-PTR RESINFO RKEY TA TALINK WALLET'.split(' '),
);

/** Types with fields of their own, in the text of master files. */
const OWN_TYPES: readonly (readonly [string, string])[] = [
  ['A', '127.0.0.1'],
  ['AAAA', '::1'],
  ['MX', '10 Mail.example.test.'],
  ['TXT', String.raw`"v=spf1 -all" "a;b" "\000\195\169\""`],
  ['SRV', '1 2 65535 sip.example.test.'],
  ['CAA', '128 issue "ca.example.net; a=b"'],
  ['PTR', 'host.example.test.'],
  ['NAPTR', '100 10 "u" "E2U+sip" "!^.*$!sip:a@example.net!" .'],
  ['HINFO', '"AMD64" "LINUX"'],
];

const RECORDS = [...OWN_TYPES, ...ANSWERED.map(([type, , canonical]) => [type, canonical] as const)];
const TYPES = [...new Set(RECORDS.map(([type]) => type))];

function zoneLine([type, text]: readonly [string, string]): string {
  const octets = rdataOctets(type, new MasterText(text));
  const generic = `TYPE${typeNumber(type)} \\# ${octets.length} ${octets.toString('hex')}`;
  return `${DOMAIN}. ${UNKNOWN_TO_NSD.has(type) ? generic : `${type} ${text}`}\n`;
}

const ZONE = `$TTL 60
$ORIGIN example.test.
@ SOA ns1 hostmaster 1 3600 900 1209600 60
@ NS ns1
ns1 A 127.0.0.1
${RECORDS.map(zoneLine).join('')}`;

describe.skipIf(!HAS_DEBIAN_SERVERS)('every type of record, as dig prints it and as nsd sends it', () => {
  let servers: DebianServers;
  let database: TestDatabase;
  let environment: Readonly<Record<string, string>>;

  beforeAll(async () => {
    servers = await startDebianServers(ZONE, 'return 204;');
    database = await openTestDatabase();
    environment = {
      ...database.environment,
      DNS_SERVERS: `127.0.0.1:${servers.serverPort}`,
      OBSERVE_DNS_TYPES: TYPES.join(','),
      OBSERVE_PRIVATE: 'allow',
      OBSERVE_HTTPS_PORT: String(REJECTING_PORT),
      OBSERVE_HTTP_PORT: String(servers.sitePort),
    };
  });
  beforeEach(() => emptyTestDatabase(database));
  afterAll(async () => {
    await database.close();
    await servers.close();
  });

  /** The records that dig prints, with the blanks that it puts into long hexadecimal and base64. */
  function digRecords(types: readonly string[]): Readonly<Record<string, string>>[] {
    const server = ['@127.0.0.1', '-p', String(servers.serverPort)];
    const options = ['+noall', '+answer', '+tries=1', '+time=2'];
    const questions = types.flatMap((type) => ['-q', DOMAIN, '-t', type, ...options]);
    // It fails where a question was not answered: what it prints of the others counts.
    const { stdout: text } = spawnSync('dig', [...server, ...questions], { encoding: 'utf8' });
    return Array.from(text.matchAll(/^(\S+)[ \t]+\d+[ \t]+IN[ \t]+(\S+)[ \t]*(.*)$/gm), (line) => {
      const [, host = '', type = '', data = ''] = line;
      return { host, class: 'IN', type, data };
    });
  }

  /** Settles when nsd has read its zone. */
  async function served(): Promise<void> {
    await expect.poll(() => digRecords(['A'])).toHaveLength(1);
  }

  async function importFromDig(at: Date): Promise<void> {
    const records = digRecords(TYPES);
    expect(records).toHaveLength(RECORDS.length);
    const line = { domain: DOMAIN, observedAt: at, dnsRecords: records, dnsTypes: TYPES };
    const input = Readable.from([`${JSON.stringify(line)}\n`]);
    const { code, stderr } = await startDms(['import', '-'], environment, input).result;
    expect(stderr).not.toContain('rejected');
    expect(code).toBe(0);
  }

  async function observe(): Promise<void> {
    const { stdout } = await runDms(['observe', DOMAIN], environment);
    expect(stdout).not.toMatch(/not observed.*\b(?:DNS|SERVFAIL|malformed)/);
  }

  async function stays(): Promise<unknown> {
    const { rows } = await database.pool.query(
      `SELECT count(*)::int AS stays, count(removed)::int AS removed,
              count(*) FILTER (WHERE rdata->>'data' LIKE '\\\\#%')::int AS generic FROM dns_record`,
    );
    return rows[0];
  }

  /** Of the examples one, APL without prefixes, has no other text. */
  const expected = { stays: RECORDS.length, removed: 0, generic: 1 };

  test('imported and then observed, nothing changes', async () => {
    await served();
    await importFromDig(new Date(Date.now() - 60_000));
    expect(await stays()).toEqual(expected);
    await observe();
    expect(await stays()).toEqual(expected);
    expect((await runDms(['verify'], environment)).code).toBe(0);
  });

  test('observed and then imported, nothing changes', async () => {
    await served();
    await observe();
    expect(await stays()).toEqual(expected);
    await importFromDig(new Date(Date.now() + 60_000));
    expect(await stays()).toEqual(expected);
    expect((await runDms(['verify'], environment)).code).toBe(0);
  });
});
