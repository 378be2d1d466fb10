import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { prepareCommands } from '../support/commands.js';
import { emptyTestDatabase } from '../support/database.js';
import { octets } from '../support/dns-behaviours.js';
import { startDnsServer } from '../support/dns-server.js';
import { REJECTING_PORT, settingsToObserve } from '../support/web-server.js';

const dns = await startDnsServer();
afterAll(() => dns.close());

const commands = prepareCommands({
  settings: () => ({
    ...settingsToObserve(dns.port, REJECTING_PORT),
    OBSERVE_DNS_TYPES: 'HTTPS,NAPTR',
    OBSERVE_DNS_TRIES: '1',
  }),
});
const { dms, said } = commands;

/** An id, the name and the type that are queried, and the response. */
const WIRE = readFileSync(new URL('../observer/cases/wire.tsv', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => line.split('\t'));

/** A record that is known of each type before. */
const KNOWN: Readonly<Record<string, string>> = {
  A: '203.0.113.1',
  AAAA: '2001:db8::1',
  CAA: '0 issue ca.example',
  CNAME: 'known.example',
  HTTPS: '1 . alpn="h3"',
  MX: '10 known.example',
  NAPTR: '1 1 u known !x!y! .',
  TXT: '"known"',
};

/** Lines of one domain have times of their own. */
const at = (type: string) =>
  `2020-01-${String(Object.keys(KNOWN).indexOf(type) + 1).padStart(2, '0')}T00:00:00Z`;

const A_STRING = (length: number, text: string) => `"${text.padEnd(length, text.at(-1))}"`;

/** What is new, with its owner where it is not the domain; or why nothing is known of the type, whose records stay. */
const RIGHT: Readonly<Record<string, readonly string[] | RegExp>> = {
  'd02-nxdomain-with-cname-soa-of-target': ['CNAME gone.example.net'],
  'd03-nxdomain-with-the-queried-cname': /NXDOMAIN.*and sends its records/,
  'd04-cname-self-loop-ten-copies': /a chain of aliases that loops/,
  'd06-cname-plus-a-same-owner': ['A 192.0.2.2 (of cdn.example.net)', 'CNAME cdn.example.net'],
  'd09-txt-one-empty-string': ['TXT ""'],
  'd10-txt-split-in-255': [`TXT ${A_STRING(255, 'v=DKIM1; p=A')} ${A_STRING(60, 'B')}`],
  'd11-txt-all-octets': [String.raw`TXT "\"\\;\\000\u{7f}\\255é\n"`],
  'd12-caa-mixed-case-tag': ['CAA 0 iSsUe ca.example.net'],
  'd19-https-ohttp': ['HTTPS 1 . alpn="h2" ohttp'],
  'd22-naptr-backslash-regexp': [String.raw`NAPTR 100 10 u E2U+sip !^\+44(.*)$!sip:\1@example.com! .`],
  'd24-mx-url-as-host': ['MX 10 http://mail.example.com/'],
  'd29-formerr-header-only': /FORMERR/,
  'd30-tc-empty-over-udp': /does not fit into a message over TCP/,
  'd31-trailing-octets': /octets after the last record/,
  'd32-noerror-empty-no-soa': /denies the records without proof/,
  'd34-soa-of-unrelated-zone': /without the SOA record of their zone/,
  'd38-hinfo-rfc8482': /records that were not queried/,
  'd39-cname-chain-17': [
    'A 192.0.2.1 (of a17.example.com)',
    'CNAME a1.example.com',
    ...Array.from({ length: 16 }, (_, at) => `CNAME a${at + 2}.example.com (of a${at + 1}.example.com)`),
  ],
  'd41-two-cnames-same-owner': /a chain of aliases that branches/,
  'd42-two-opt': /more than one OPT record/,
  'd43-owner-label-nul': [
    String.raw`A 192.0.2.1 (of a\000b.example.net)`,
    String.raw`CNAME a\000b.example.net`,
  ],
  'd45-forward-pointer-loop': /a pointer that leads to no earlier name/,
};

const OTHER = 'ns.other.example';

/** Every name has a name server besides, and the response of the case for its type. */
function serve([, name = '', type = '', hex = '']: readonly string[]): void {
  dns.forgetQuestions();
  dns.generate((_name, asked) => (asked === 'NS' ? [`${OTHER}.`] : []));
  for (const each of WIRE) dns.behave(each[1] ?? '', undefined, each[2]);
  dns.behave(name, octets(Buffer.from(hex, 'hex')), type);
}

beforeAll(async () => {
  const lines = new Set(
    WIRE.map(([, domain = '', type = '']) => {
      const record = { host: domain, class: 'IN', type, data: KNOWN[type] };
      return JSON.stringify({ domain, observedAt: at(type), dnsRecords: [record], dnsTypes: [type] });
    }),
  );
  await said(['import', '--sort', '-'], [...lines].join('\n'));
});

test.each(WIRE)(
  'a response as the field has it is read as dig reads it, and removes nothing without proof: %s',
  async (...given) => {
    const [id = '', domain = '', type = ''] = given;
    serve(given);
    const { stdout } = await dms(['observe', '--dry-run', domain]);
    const lines = stdout.split('\n').map((line) => line.replace(/^(..\S+) +/, '$1 '));
    const changes = lines.filter((line) => /^[+-] /.test(line) && line !== `+ NS ${OTHER}`);
    const right = RIGHT[id];
    if (right === undefined) throw new Error(`${id} has no right outcome.`);
    if (right instanceof RegExp) {
      const failure = new RegExp(`^  ${type} not observed: .*${right.source}`);
      expect(lines).toContainEqual(expect.stringMatching(failure));
      expect(changes.filter((line) => line.startsWith(`- ${type} `))).toEqual([]);
    } else {
      for (const line of right) expect(changes).toContain(`+ ${line}`);
      expect(changes.filter((line) => line.startsWith('+')).length).toBe(right.length);
      expect(changes).toContain(`- ${type} ${KNOWN[type]}`);
    }
    // Of the other types the domain is observed.
    expect(lines).toContain(`+ NS ${OTHER}`);
    if (id.startsWith('d29-')) expect(dns.asked(domain, type)).toBe(2);
  },
);

test('responses as the field has them, recorded one after the other, make a sound history that is exported and imported again', async () => {
  for (const given of WIRE) {
    serve(given);
    expect((await dms(['observe', given[1] ?? ''])).code).toBe(0);
  }
  await said(['verify']);
  const exported = await said(['export']);
  expect(exported).toContain(String.raw`\\000`);
  await emptyTestDatabase(commands.database);
  await said(['import', '-'], exported);
  expect(await said(['export'])).toBe(exported);
});
