import { spawnSync } from 'node:child_process';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { typeNumber } from '../../src/model/dns-types.js';
import { MasterText } from '../../src/model/master-text.js';
import { rdataOctets } from '../../src/model/rdata-text.js';
import { databaseOfFile, emptyTestDatabase } from '../support/database.js';
import { type DebianServers, HAS_DEBIAN_SERVERS, startDebianServers } from '../support/debian-servers.js';
import { RDATA_EXAMPLES } from '../support/rdata-examples.js';
import { REJECTING_PORT, settingsToObserve } from '../support/web-server.js';
import { runDms } from './dms-command.js';

/**
 * Records as the field has them, whose text tools have read or printed wrongly. In the form of RFC 3597 is what nsd reads
 * in no other: the tag iSsUe, and parameters of HTTPS.
 */
const ODD = String.raw`
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
loop CNAME loop.example.test.
`;
const ODD_NAMES = [
  ...new Set(Array.from(ODD.matchAll(/^(\S+) /gm), ([, name]) => `${name}.example.test`)),
  'below.dname.example.test',
];
const ODD_TYPES = 'A CAA CNAME DNAME HTTPS MX NAPTR SRV TXT'.split(' ');

/** dig 9.18 takes it for malformed, since `alpn` is not beside it (RFC 9460, section 2.4.3 leaves that to clients). */
const NOT_PRINTED = 'hint.example.test. HTTPS 1 . no-default-alpn ipv4hint=1.1.1.1';

const EVERY = 'all.example.test';
/** The types that nsd 4.6 does not know by their names. */
const UNKNOWN_TO_NSD = 'AMTRELAY BRID DSYNC HHIT KEY NINFO NSAP-PTR RESINFO RKEY TA TALINK WALLET'.split(' ');

/** Records of every type, in the text of master files. */
const RECORDS: readonly (readonly [type: string, text: string])[] = [
  ['A', '127.0.0.1'],
  ['AAAA', '::1'],
  ['MX', '10 Mail.example.test.'],
  ['TXT', String.raw`"v=spf1 -all" "a;b" "\000\195\169\""`],
  ['SRV', '1 2 65535 sip.example.test.'],
  ['CAA', '128 issue "ca.example.net; a=b"'],
  ['PTR', 'host.example.test.'],
  ['NAPTR', '100 10 "u" "E2U+sip" "!^.*$!sip:a@example.net!" .'],
  ['HINFO', '"AMD64" "LINUX"'],
  // A server gives no NSEC3 to a question for it (RFC 5155, section 7.2.8).
  ...RDATA_EXAMPLES.filter(([type]) => type !== 'NSEC3').map(
    ([type, , canonical]) => [type, canonical] as const,
  ),
];
const EVERY_TYPE = [...new Set(RECORDS.map(([type]) => type))];

function zoneLine([type, text]: readonly [string, string]): string {
  const octets = rdataOctets(type, new MasterText(text));
  const generic = `TYPE${typeNumber(type)} \\# ${octets.length} ${octets.toString('hex')}`;
  return `${EVERY}. ${UNKNOWN_TO_NSD.includes(type) ? generic : `${type} ${text}`}\n`;
}

const ZONE = String.raw`$TTL 60
$ORIGIN example.test.
@ SOA ns1 first\.last 1 3600 900 1209600 60
@ NS ns1
ns1 A 127.0.0.1${ODD}${RECORDS.map(zoneLine).join('')}`;

describe.skipIf(!HAS_DEBIAN_SERVERS)('a zone of nsd, behind unbound', () => {
  let servers: DebianServers;
  const database = databaseOfFile();

  beforeAll(async () => {
    servers = await startDebianServers(ZONE, 'return 204;');
    const isServed = () => dig(servers.resolverPort, [['ns1.example.test', 'A']]).includes('127.0.0.1');
    await vi.waitUntil(isServed, { timeout: 60_000 });
  });
  beforeEach(() => emptyTestDatabase(database));
  afterAll(() => servers.close());

  function dms(port: number, types: readonly string[], ...args: readonly string[]) {
    return runDms(args, {
      ...database.environment,
      ...settingsToObserve(port, REJECTING_PORT),
      OBSERVE_DNS_TYPES: types.join(','),
      OBSERVE_PRIVATE: 'deny',
    });
  }

  function dig(port: number, questions: readonly (readonly [name: string, type: string])[]): string {
    const options = ['+noall', '+answer', '+tries=1', '+time=5'];
    const args = questions.flatMap(([name, type]) => ['-q', name, '-t', type, ...options]);
    // It fails where a question was not answered: what it prints of the others counts.
    return spawnSync('dig', ['@127.0.0.1', '-p', String(port), ...args], { encoding: 'utf8' }).stdout;
  }

  function recordsIn(text: string) {
    const lines = text.matchAll(/^(\S+)[ \t]+(?:\d+[ \t]+)?IN[ \t]+(\S+)[ \t]*(.*)$/gm);
    return Array.from(lines, ([, host = '', type = '', data = '']) => ({ host, class: 'IN', type, data }));
  }

  const textsOf = (records: readonly { host: string; type: string; data: string }[]) =>
    [...new Set(records.map(({ host, type, data }) => `${host} ${type} ${data}`))].sort();

  test('odd records and chains of aliases behind a resolver are exported as dig prints them', async () => {
    const { resolverPort } = servers;
    const { stdout: told } = await dms(resolverPort, ODD_TYPES, 'observe', '--', ...ODD_NAMES);
    expect(told).toMatch(/^loop\.example\.test .*\n {2}A +not observed: .*\n/m);
    const { stdout } = await dms(resolverPort, ODD_TYPES, 'export', '--format', 'zone');
    const exported = recordsIn(stdout).filter(({ type }) => !['SOA', 'NS'].includes(type));
    const questions = ODD_NAMES.flatMap((name) => ODD_TYPES.map((type) => [name, type] as const));
    const printed = textsOf(recordsIn(dig(resolverPort, questions)));
    expect(textsOf(exported)).toEqual([...new Set([...printed, NOT_PRINTED])].sort());
    expect((await dms(resolverPort, ODD_TYPES, 'verify')).code).toBe(0);
  });

  async function importFromDig(at: number): Promise<void> {
    const questions = EVERY_TYPE.map((type) => [EVERY, type] as const);
    // dig puts blanks into long hexadecimal and base64.
    const dnsRecords = recordsIn(dig(servers.serverPort, questions));
    expect(dnsRecords).toHaveLength(RECORDS.length);
    const line = { domain: EVERY, observedAt: new Date(at), dnsRecords, dnsTypes: EVERY_TYPE };
    const input = Readable.from([`${JSON.stringify(line)}\n`]);
    const { code, stderr } = await runDms(['import', '-'], database.environment, input);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining('rejected')]);
  }

  async function observe(): Promise<void> {
    const { stdout } = await dms(servers.serverPort, EVERY_TYPE, 'observe', EVERY);
    expect(stdout).not.toMatch(/not observed.*\b(?:DNS|SERVFAIL|malformed)/);
  }

  test.each([
    ['as dig prints it and then as nsd sends it', [() => importFromDig(Date.now() - 60_000), observe]],
    ['as nsd sends it and then as dig prints it', [observe, () => importFromDig(Date.now() + 60_000)]],
  ])('every type of record is the same %s', async (_how, ways) => {
    for (const record of ways) {
      await record();
      const { rows } = await database.pool.query(
        `SELECT count(*)::int AS stays, count(removed)::int AS removed,
                count(*) FILTER (WHERE rdata->>'data' LIKE '\\\\#%')::int AS generic FROM dns_record`,
      );
      // Of the examples one, APL without prefixes, has no other text.
      expect(rows).toEqual([{ stays: RECORDS.length, removed: 0, generic: 1 }]);
    }
    expect((await dms(servers.serverPort, EVERY_TYPE, 'verify')).code).toBe(0);
  });
});
