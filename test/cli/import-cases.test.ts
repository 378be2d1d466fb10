import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { runDms } from '../journeys/dms-command.js';
import { emptyTestDatabase, openTestDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await openTestDatabase();
});
beforeEach(() => emptyTestDatabase(database));
afterAll(() => database.close());

function dms(args: readonly string[], input = '') {
  return runDms(args, database.environment, Readable.from([input]));
}

/** The rdata of a record, and its owner where it is not the domain. */
function recordText(domain: string, { host, class: _class, type, ...data }: Record<string, unknown>): string {
  const { entries: _entries, ...fields } = data;
  const text = Object.values(fields).join(' ');
  return `${host === domain ? '' : `${host} `}${type} ${text}`;
}

/** What is recorded, an observation each: the domain, the time, the types that were observed or `sighted`, records, headers. */
async function recorded(): Promise<string[]> {
  const { stdout } = await dms(['export']);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const { domain, observedAt, dnsTypes, dnsRecords = [], httpHeaders = {}, sighted } = JSON.parse(line);
      const records = dnsRecords.map((record: Record<string, unknown>) => recordText(domain, record));
      const headers = Object.entries(httpHeaders).map(([name, value]) => `${name}: ${value}`);
      const types = sighted === true ? 'sighted' : dnsTypes?.join(',');
      return [
        domain,
        observedAt.replace(/(\.000000)?Z$/, ''),
        ...(types ? [types] : []),
        ...records,
        ...headers,
      ].join(' | ');
    });
}

const ENDS = ['2014-05-13T16:53:20', '2017-07-14T02:40:00'];
const sighted = (domain: string, record: string, times = ENDS) =>
  times.map((at) => `${domain} | ${at} | sighted | ${record}`);

interface Case {
  readonly records: readonly string[];
  /** What is written to standard error about lines, one after the other; nothing else is. */
  readonly says?: readonly RegExp[];
}

const NO_NAME = (name: string) => new RegExp(`^line 1 rejected: name: "${name}.*" is not a domain name`);
const NO_SOA = /^1 line: SOA counts as not observed\. For example, .* is not a whole record\.$/;

const CASES: Readonly<Record<string, Case>> = {
  'cof-bom-crlf.ndjson': {
    records: [
      ...sighted('crlf.example.com', 'A 192.0.2.1'),
      ...sighted('crlf2.example.com', 'TXT v=spf1 -all'),
    ],
  },
  'cof-circl-v2-swapped.ndjson': {
    records: [
      'example.lu | 2023-10-08T17:37:16 | sighted | MX 10 mail.example.lu | NS ns1.example.net',
      'example.lu | 2023-10-08T20:53:05 | sighted | A 192.0.2.14 | AAAA 2001:db8::14',
      'example.lu | 2023-10-21T12:20:24 | sighted | A 192.0.2.14 | AAAA 2001:db8::14',
      'example.lu | 2023-10-21T14:07:12 | sighted | MX 10 mail.example.lu | NS ns1.example.net',
    ],
    says: [
      /^1 line: Whether rrname and rdata are exchanged does not show in the line: they were exchanged back/,
    ],
  },
  'cof-d4-floats-and-torn-txt.ndjson': {
    records: [
      'media.example.net | 2022-07-15T09:44:32 | sighted | TXT v=spf1 include:_spf.example.org -all',
      'media.example.net | 2022-07-15T09:44:32.913000 | sighted | AAAA 2001:db8:0:8::53',
      'media.example.net | 2022-07-15T09:44:33 | sighted | TXT v=spf1 include:_spf.example.org -all',
      'media.example.net | 2022-07-15T09:44:33.500000 | sighted | AAAA 2001:db8:0:8::53',
    ],
    says: [/^1 line: A TXT record ends with a quote that nothing opens/],
  },
  'cof-dnsdbq-annotated.ndjson': {
    records: sighted('www.example.com', 'A 192.0.2.81', ['2013-09-25T15:37:03', '2015-04-01T06:17:25']),
  },
  'cof-dnsdbq-datefix-iso.ndjson': {
    records: [
      ...sighted('example.org', 'NS ns0.example.net | NS ns1.example.net', [
        ...['2010-05-28T01:30:03', '2017-01-19T17:21:04'],
      ]),
      ...sighted('www.example.com', 'A 192.0.2.81', ['2013-09-25T15:37:03', '2015-04-01T05:50:45']),
    ],
  },
  'cof-strange-times.ndjson': {
    records: [
      'a.example.com | 2017-07-14T02:40:00 | sighted | A 192.0.2.1',
      ...sighted('f.example.com', 'A 192.0.2.6'),
      ...sighted('g.example.com', 'HTTPS 1 . alpn="h2"'),
      ...sighted('h.example.com', 'A 192.0.2.8'),
    ],
    says: [
      /^line 2 rejected: time_first: it is later than time_last\.$/,
      /^line 3 rejected: time_first: "-1" is not a number of seconds since 1970\.$/,
      /^line 4 rejected: time_first: "1400000000000" .* of milliseconds: divide it by 1000\.$/,
      /^line 5 rejected: time_first: 2200-.* in the future\.$/,
    ],
  },
  'cof-two-objects-one-line.ndjson': {
    records: [...sighted('a.example.com', 'A 192.0.2.1'), ...sighted('b.example.com', 'A 192.0.2.2')],
  },
  'dnsx-all-nxdomain-cname.ndjson': {
    records: ['shop.example.com | 2026-03-01T10:00:00 | CNAME | CNAME gone.cdn.example.net'],
  },
  'dnsx-old-soa-strings.ndjson': {
    records: ['example.com | 2023-06-01T10:00:00 | A | A 192.0.2.10'],
    says: [NO_SOA],
  },
  'dnsx-omit-raw-mapped-aaaa.ndjson': {
    records: ['www.example.net | 2026-03-01T10:00:00 | A,AAAA | A 192.0.2.186 | AAAA ::ffff:192.0.2.186'],
  },
  'dnsx-omit-raw-nxdomain-cname.ndjson': {
    records: ['shop.example.com | 2026-03-01T10:00:00 | CNAME | CNAME gone.cdn.example.net'],
  },
  'dnsx-opt-pseudosection.ndjson': {
    records: [
      'intra.example.org | 2025-01-07T21:56:39.796985 | A | A 192.0.2.15',
      'test.example.org | 2022-01-17T11:57:56.208290 | A | A 192.0.2.4',
    ],
    says: [NO_SOA],
  },
  'dnsx-utf16le-powershell.ndjson': { records: ['example.com | 2024-06-01T10:00:00 | A | A 192.0.2.10'] },
  'httpx-failed-probe.ndjson': {
    records: [],
    says: [/^line 1 rejected: failed: httpx got no response; nothing was observed\.$/],
  },
  'httpx-first-header-blank.ndjson': {
    records: ['city.example.org | 2026-03-02T10:00:00 | server: WebtoB'],
  },
  'httpx-underscore-names.ndjson': {
    records: [
      'shop.example.com | 2026-03-01T15:00:00.123450 | my-custom-header: 1 | server: nginx | x-frame-options: DENY',
      'shop.example.com | 2026-03-02T10:00:00 | server: nginx | x-frame-options: DENY | my_custom-header: 1',
    ],
    says: [/^1 line: httpx -irh writes each - of a field name as _/],
  },
  'massdns-linefeed-in-name.ndjson': { records: [], says: [NO_NAME('example\\.com')] },
  'massdns-old-invalid-json.ndjson': {
    records: [],
    says: [/^line 1 rejected: it is no JSON object \(character 17\)/],
  },
  'massdns-quote-in-name.ndjson': {
    records: ['good.example.com | 2023-12-22T08:30:01.103924 | A | A 192.0.2.9'],
    says: [NO_NAME('ex')],
  },
  'zdns-concatenated.txt': {
    records: ['a.example.com | 2020-04-22T00:58:24 | A | A 192.0.2.7'],
    says: [/^line 8 rejected: nothing was observed: the line has no answers\.$/],
  },
  'zdns1-mapped-aaaa.ndjson': {
    records: ['ns1.example.com | 2019-07-25T17:17:53 | AAAA | AAAA ::ffff:192.0.2.204'],
  },
  'zdns2-ohttp-unknown.ndjson': {
    records: ['dns.example.net | 2026-07-20T10:00:00 | A | A 192.0.2.53'],
    says: [
      /^1 line: HTTPS counts as not observed\. For example, dns\.example\.net: .*"unknown" is not a key/,
    ],
  },
};

const caseFile = (name: string) => fileURLToPath(new URL(`../importers/cases/${name}`, import.meta.url));

test.each(Object.entries(CASES))(
  'a file as the field has it is imported but for what is odd, which is said: %s',
  async (name, { records, says = [] }) => {
    const file = caseFile(name);
    const { code, stderr } = await dms(['import', file]);
    const said = stderr
      .split('\n')
      .filter((line) => line !== '' && !/^(?:\d lines?: rejected\.|Import passive DNS after)/.test(line))
      .map((line) => line.replace(`${file}, `, ''));
    expect(said).toEqual(says.map((pattern) => expect.stringMatching(pattern)));
    expect(code).toBe(said.some((line) => line.includes(' rejected: ')) ? 1 : 0);
    expect(await recorded()).toEqual(records);
    expect((await dms(['verify'])).code).toBe(0);
  },
);

const SAME = [
  ...['www.vilnius-.example.de', '-blah.example.com', 'html-multiple-.example.sh', '-.example.cz', 'ai'],
  ...['r3---sn-abc1defghijkl-m2no.example.com', 'xn--v86cr064b.example', 'xn--xn---epa.example'],
  ...['_dmarc.example.com', 'spf_.example.com', 'xn--53hy7af013i.ws', 'xn--i-7iq.ws'],
];
const CANONICAL = {
  '☕🦊✈.ws': 'xn--53hy7af013i.ws',
  'i❤️.ws': 'xn--i-7iq.ws',
  'надвор’е.бел': 'xn--80aeff0bjo6418c.xn--90ais',
  'example.com.': 'example.com',
  'EXAMPLE。org': 'example.org',
  'faß.de': 'xn--fa-hia.de',
};

test('names that resolve are imported, exported and shown, as those that resolvers know', async () => {
  const httpHeaders = { server: 'a' };
  const lines = [...SAME, ...Object.keys(CANONICAL), '*.example.com', '1.2.3.4'].map((domain) =>
    JSON.stringify({ domain, observedAt: '2024-01-01T00:00:00Z', httpHeaders }),
  );
  const { stderr } = await dms(['import', '-'], lines.join('\n'));
  expect(stderr.match(/(?<=rejected: domain: )"[^"]*" is not a domain name/g)).toEqual([
    '"*.example.com" is not a domain name',
    '"1.2.3.4" is not a domain name',
  ]);
  const domains = (await recorded()).map((line) => line.split(' | ')[0]);
  const canonical = [...new Set([...SAME, ...Object.values(CANONICAL)])];
  expect(domains.toSorted()).toEqual(canonical.toSorted());
  expect((await dms(['show', '--json', '--', '-blah.example.com'])).stdout).toContain('"-blah.example.com"');
});
