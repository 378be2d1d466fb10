import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { prepareCommands } from '../support/commands.js';

const { dms, said } = prepareCommands({ emptied: true });

/** The rdata of a record, and its owner where it is not the domain. */
function recordText(domain: string, { host, class: _class, type, ...data }: Record<string, unknown>): string {
  const { entries: _entries, ...fields } = data;
  const text = Object.values(fields).join(' ');
  return `${host === domain ? '' : `${host} `}${type} ${text}`;
}

/** What is recorded, an observation each: the domain, the time, the types that were observed or `sighted`, records, headers. */
async function recorded(): Promise<string[]> {
  const lines = (await said(['export'])).split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const { domain, observedAt, dnsTypes, dnsRecords = [], httpHeaders = {}, sighted } = JSON.parse(line);
    const records = dnsRecords.map((record: Record<string, unknown>) => recordText(domain, record));
    const headers = Object.entries(httpHeaders).map(([name, value]) => `${name}: ${value}`);
    const types = sighted === true ? 'sighted' : (dnsTypes?.join(',') ?? []);
    const time = observedAt.replace(/(\.000000)?Z$/, '');
    return [domain, time, types, records, headers].flat().join(' | ');
  });
}

/** What is recorded, and what is written to standard error about lines, one after the other: nothing else is. */
type Case = [file: string, records: readonly string[], ...says: RegExp[]];

const NO_NAME = (name: string) => new RegExp(`^line 1 rejected: name: "${name}.*" is not a domain name`);
const NO_SOA = /^1 line: SOA counts as not observed\. For example, .* is not a whole record\.$/;

const CASES: Case[] = [
  [
    'cof-dnsdbq-annotated.ndjson',
    ['2013-09-25T15:37:03', '2015-04-01T06:17:25'].map(
      (at) => `www.example.com | ${at} | sighted | A 192.0.2.81`,
    ),
  ],
  [
    'dnsx-all-nxdomain-cname.ndjson',
    ['shop.example.com | 2026-03-01T10:00:00 | CNAME | CNAME gone.cdn.example.net'],
  ],
  ['dnsx-old-soa-strings.ndjson', ['example.com | 2023-06-01T10:00:00 | A | A 192.0.2.10'], NO_SOA],
  [
    'dnsx-omit-raw-mapped-aaaa.ndjson',
    ['www.example.net | 2026-03-01T10:00:00 | A,AAAA | A 192.0.2.186 | AAAA ::ffff:192.0.2.186'],
  ],
  [
    'dnsx-opt-pseudosection.ndjson',
    [
      'intra.example.org | 2025-01-07T21:56:39.796985 | A | A 192.0.2.15',
      'test.example.org | 2022-01-17T11:57:56.208290 | A | A 192.0.2.4',
    ],
    NO_SOA,
  ],
  ['dnsx-utf16le-powershell.ndjson', ['example.com | 2024-06-01T10:00:00 | A | A 192.0.2.10']],
  ['massdns-linefeed-in-name.ndjson', [], NO_NAME('example\\.com')],
  ['massdns-old-invalid-json.ndjson', [], /^line 1 rejected: it is no JSON object \(character 17\)/],
  [
    'massdns-quote-in-name.ndjson',
    ['good.example.com | 2023-12-22T08:30:01.103924 | A | A 192.0.2.9'],
    NO_NAME('ex'),
  ],
  [
    'zdns-concatenated.txt',
    ['a.example.com | 2020-04-22T00:58:24 | A | A 192.0.2.7'],
    /^line 8 rejected: nothing was observed: the line has no answers\.$/,
  ],
  ['zdns1-mapped-aaaa.ndjson', ['ns1.example.com | 2019-07-25T17:17:53 | AAAA | AAAA ::ffff:192.0.2.204']],
  [
    'zdns2-ohttp-unknown.ndjson',
    ['dns.example.net | 2026-07-20T10:00:00 | A | A 192.0.2.53'],
    /^1 line: HTTPS counts as not observed\. For example, dns\.example\.net: .*"unknown" is not a key/,
  ],
];

const caseFile = (name: string) => fileURLToPath(new URL(`../importers/cases/${name}`, import.meta.url));

test.each(CASES)(
  'a file as the field has it is imported but for what is odd, which is said: %s',
  async (name, records, ...says) => {
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
