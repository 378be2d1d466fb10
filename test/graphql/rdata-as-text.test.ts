import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseDnsRecord } from '../../src/model/dns-record.js';
import { InvalidObservationError } from '../../src/model/errors.js';
import { rdataText } from '../../src/model/rdata-text.js';
import { parseRdata } from '../../src/model/rdata-types.js';
import { dnsRecordInput } from '../support/dns-record-inputs.js';
import { EVERYTHING, insertEverything } from '../support/every-record-type.js';
import { serviceOfFile } from '../support/service.js';

const service = serviceOfFile({}, ({ database }) => insertEverything(database.pool));

const get = async (path: string) => (await service.rest(path)).body;

/** In the order of Get domain. */
const TEXTS = [
  ['A', '192.0.2.7'],
  ['AAAA', '2001:db8::7'],
  ['CAA', '128 issue "ca.example.net"'],
  ['CNAME', '.'],
  ['DS', '60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118'],
  ['HINFO', '"AMD64" "LINUX"'],
  ['MX', '10 mail.example.net.'],
  ['NAPTR', '100 10 "u" "E2U+sip" "!^.*$!sip:a@example.net!" .'],
  ['NS', 'ns1.example.net.'],
  ['PTR', 'host.example.net.'],
  ['SOA', 'ns1.example.net. host\\.master.example.net. 4294967295 7200 900 1209600 0'],
  ['SRV', '1 2 65535 sip.example.net.'],
  ['TXT', '"v=spf1 " "\\"\\195\\188\\" \\000"'],
  ['TYPE65534', '\\# 4 C0000201'],
  ['A', '192.0.2.8'],
];

test('the rdata of a record of any type is one field, as a master file has it', async () => {
  const records = 'dnsRecords { ... on DnsRecordEntry { type data } }';
  const { data } = await service.graphql(`{ domain(name: "${EVERYTHING}") { ${records} } }`);
  expect(data.domain.dnsRecords).toEqual(TEXTS.map(([type, text]) => ({ type, data: text })));
});

test('REST has the same text in searches, changes and streams, and not in the operations of the specification', async () => {
  const textOf = ({ data, rdata }: { data: { type: string }; rdata: string }) => [data.type, rdata];
  const { changes } = await get(`/domain/${EVERYTHING}/changes?kinds=DNS_RECORD_ADDED`);
  expect(changes.map(textOf)).toEqual(TEXTS);
  const { matches } = await get('/search/dns-records?target=mail.example.net');
  expect(matches.map(textOf)).toEqual([['MX', '10 mail.example.net.']]);
  expect(Object.keys(matches[0])).toEqual(['domain', 'data', 'rdata', 'firstSeen', 'removed']);
  for (const entry of (await get(`/domain/${EVERYTHING}`)).dnsRecords) {
    expect(Object.keys(entry)).toEqual(['data', 'firstSeen', 'removed']);
  }
});

test('the text of any record gives that text again when it is read, if a message can hold it', () => {
  fc.assert(
    fc.property(dnsRecordInput, (input) => {
      const { type, rdata } = parseDnsRecord(input);
      const data = rdataText(type, parseRdata(rdata));
      try {
        const read = parseDnsRecord({ host: 'example.com', class: 'IN', type, data });
        expect(rdataText(type, parseRdata(read.rdata))).toBe(data);
      } catch (error) {
        if (!(error instanceof InvalidObservationError)) throw error;
      }
    }),
  );
});

test.each([
  ['MX', { pri: 70_000, target: 'mail.example.net' }, '70000 mail.example.net.'],
  ['CAA', { flags: 0, tag: 'a b', value: 'c' }, '\\# 6 000361206263'],
  ['CAA', { flags: 256, tag: 'a b', value: 'c' }, '256 "a b" "c"'],
])('fields of %s that no name server reads, such as %j, have a text too', (type, rdata, text) => {
  expect(rdataText(type, rdata)).toBe(text);
});
