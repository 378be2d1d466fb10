import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { type DebianServers, HAS_DEBIAN_SERVERS, startDebianServers } from '../support/debian-servers.js';
import { REJECTING_PORT } from '../support/web-server.js';
import { runDms } from './dms-command.js';

/**
 * Records as the field has them, whose text tools have read or printed wrongly. In the form of RFC 3597 is what nsd reads
 * in no other: the tag iSsUe, and parameters of HTTPS.
 */
const RECORDS = String.raw`
apex TXT ""
apex TXT "v=DKIM1; p=${'A'.repeat(243)}" "BBBB"
apex TXT "\"\\;\000\127\255\195\169\010"
apex TYPE257 \# 21 0005695373556563612E6578616D706C652E6E6574
apex CAA 1 issue "ca.example.net"
apex CAA 0 issue ""
alpn TYPE65 \# 20 0001000001000D08665C6F6F2C62617203683268
hint TYPE65 \# 15 000100000200000004000401010101
null MX 0 .
url MX 10 http://mail.example.test/.
4.3.2.1.e164 NAPTR 100 10 "u" "E2U+sip" "!^\\+44(.*)$!sip:\\1@example.com!" .
a CNAME \*.0/25._x.example.test.
old CNAME gone.example.test.
dname DNAME new.example.test.
below.new A 192.0.2.1
www.vilnius- A 192.0.2.1
-first A 192.0.2.1
_caldavs._tcp SRV 5 0 443 calendar.example.test.
${Array.from({ length: 11 }, (_, at) => `a${at} CNAME a${at + 1}.example.test.\n`).join('')}a11 A 192.0.2.1
loop CNAME loop.example.test.`;

const NAMES = [
  ...new Set(Array.from(RECORDS.matchAll(/^(\S+) /gm), ([, name]) => `${name}.example.test`)),
  'below.dname.example.test',
];

const TYPES = ['A', 'CAA', 'CNAME', 'DNAME', 'HTTPS', 'MX', 'NAPTR', 'SRV', 'TXT'];

/** dig 9.18 takes it for malformed, since `alpn` is not beside it (RFC 9460, section 2.4.3 leaves that to clients). */
const NOT_PRINTED = 'hint.example.test. HTTPS 1 . no-default-alpn ipv4hint=1.1.1.1';

const ZONE = String.raw`$TTL 60
$ORIGIN example.test.
@ SOA ns1 first\.last 1 3600 900 1209600 60
@ NS ns1
ns1 A 127.0.0.1${RECORDS}
`;

describe.skipIf(!HAS_DEBIAN_SERVERS)('a zone behind a resolver', () => {
  let servers: DebianServers;
  let database: TestDatabase;

  beforeAll(async () => {
    servers = await startDebianServers(ZONE, 'return 204;');
    database = await openTestDatabase();
  });
  afterAll(async () => {
    await database.close();
    await servers.close();
  });

  /** Owner name, type and rdata of the records that dig prints, each once and in order. */
  function digRecords(questions: readonly (readonly [name: string, type: string])[]): string[] {
    const server = ['@127.0.0.1', '-p', String(servers.resolverPort)];
    const options = ['+noall', '+answer', '+tries=1', '+time=5'];
    const args = questions.flatMap(([name, type]) => ['-q', name, '-t', type, ...options]);
    return recordsIn(spawnSync('dig', [...server, ...args], { encoding: 'utf8' }).stdout);
  }

  /** Of master-file text. */
  function recordsIn(text: string): string[] {
    const records = Array.from(text.matchAll(/^(\S+)\s+(?:\d+\s+)?IN\s+(\S+)\s+(.*)$/gm), ([, ...parts]) =>
      parts.join(' '),
    );
    return [...new Set(records)].sort();
  }

  test('is exported as dig prints it, odd records and chains of aliases too', async () => {
    await expect.poll(() => digRecords([['ns1.example.test', 'A']])).toHaveLength(1);
    const environment = {
      ...database.environment,
      DNS_SERVERS: `127.0.0.1:${servers.resolverPort}`,
      OBSERVE_DNS_TYPES: TYPES.join(','),
      OBSERVE_PRIVATE: 'deny',
      OBSERVE_HTTPS_PORT: String(REJECTING_PORT),
      OBSERVE_HTTP_PORT: String(REJECTING_PORT),
    };
    const observing = await runDms(['observe', '--', ...NAMES], environment);
    expect(observing.stdout).toMatch(/^loop\.example\.test .*\n {2}A +not observed: .*\n/m);
    const { stdout } = await runDms(['export', '--format', 'zone'], environment);
    const observed = recordsIn(stdout).filter((record) => !/ (?:SOA|NS) /.test(record));
    const printed = digRecords(NAMES.flatMap((name) => TYPES.map((type) => [name, type] as const)));
    expect(observed).toEqual([...new Set([...printed, NOT_PRINTED])].sort());
    expect((await runDms(['verify'], environment)).code).toBe(0);
  });
});
