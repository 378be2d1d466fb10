import { encode } from 'dns-packet';
import { describe, expect, test } from 'vitest';
import { parseDnsRecord } from '../../../src/model/dns-record.js';
import { canonicalType, typeNumber } from '../../../src/model/dns-types.js';
import { readAnswer } from '../../../src/observer/dns/evidence.js';
import { createQuestion, responseTo } from '../../../src/observer/dns/message.js';
import { nameOctets, textOctets, uint16 } from '../../support/dns-octets.js';
import { rr } from '../../support/dns-records.js';

const OWNER = 'example.test';
/** Where it begins, behind the question. */
const FIRST_RECORD = 12 + nameOctets(OWNER).length + 4;

/** What is read from a response with these octets as the one answer to a question for the type. */
function read(type: string, rdata: Buffer, ...before: readonly Buffer[]) {
  return readRecords(type, ...before, rr(uint16(0xc00c), typeNumber(type) ?? 0, rdata));
}

function readRecords(type: string, ...answers: readonly Buffer[]): ReturnType<typeof readAnswer> {
  const question = createQuestion(OWNER, canonicalType(type) ?? type);
  const header = uint16(1, 0x8180, 1, answers.length, 0, 0);
  const response = responseTo(question, 1, Buffer.concat([header, question.section, ...answers]));
  return response === undefined
    ? expect.fail('The message is a response.')
    : readAnswer('the server', question, response);
}

function fields(type: string, rdata: Buffer, ...before: readonly Buffer[]): unknown {
  const reading = read(type, rdata, ...before);
  if (reading.kind !== 'answered') return reading.failure.code;
  const [record] = reading.records;
  expect(reading.records).toHaveLength(1);
  expect(record).toMatchObject({ host: OWNER, class: 'IN', type: canonicalType(type) });
  const own = JSON.parse(record?.rdata ?? '');
  // An observed record is equal to the same one imported.
  expect(parseDnsRecord({ host: OWNER, class: 'IN', type: canonicalType(type), ...own })).toEqual(record);
  return own;
}

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');

/** Octets as dns-packet makes them, or after the test vectors of RFC 9460, appendix D; and the fields of the record. */
const RECORDS = String.raw`
A | c00002ff | {"ip":"192.0.2.255"}
AAAA | 20010db8000000000001000000000001 | {"ipv6":"2001:db8::1:0:0:1"}
AAAA | 00000000000000000000ffffc0000201 | {"ipv6":"::ffff:192.0.2.1"}
NS | 034e5331074578616d706c65034e455400 | {"target":"ns1.example.net"}
CNAME | 00 | {"target":"."}
PTR | 055f686f7374045f746370076578616d706c65036e657400 | {"target":"_host._tcp.example.net"}
MX | ffff044d61696c076578616d706c65036e657400 | {"pri":65535,"target":"mail.example.net"}
CAA | 00056973737565 | {"flags":0,"tag":"issue","value":""}
HINFO | 05414d44363400 | {"cpu":"AMD64","os":""}
CDNSKEY | 0000030000 | {"data":"0 3 0 AA=="}
SMIMEA | 03000030 | {"data":"3 0 0 30"}
DNAME | 054f74686572074578616d706c65034e455400 | {"data":"other.example.net."}
RP | 0541646d696e076578616d706c65036e65740000 | {"data":"admin.example.net. ."}
CAA | 0005 6973737565 6100ff5c303635c3a9 | {"flags":0,"tag":"issue","value":"a\\000\\255\\092065é"}
HINFO | 02 00ff 01 5c | {"cpu":"\\000\\255","os":"\\"}
NAPTR | 0001 0002 01 ff 01 00 01 80 00 | {"order":1,"pref":2,"flags":"\\255","services":"\\000","regex":"\\128","replacement":"."}
HTTPS | 0000 03666f6f076578616d706c6503636f6d00 | {"data":"0 foo.example.com."}
SVCB | 0001 00 | {"data":"1 ."}
SVCB | 0010 03666f6f076578616d706c6503636f6d00 0003 0002 0035 | {"data":"16 foo.example.com. port=53"}
SVCB | 0001 03666f6f076578616d706c6503636f6d00 029b 0005 68656c6c6f | {"data":"1 foo.example.com. key667=\"hello\""}
SVCB | 0001 03666f6f076578616d706c6503636f6d00 029b 0009 68656c6c6fd2716f6f | {"data":"1 foo.example.com. key667=\"hello\\210qoo\""}
SVCB | 0001 076578616d706c6503636f6d00 0006 0010 20010db80122034400000000c0000221 | {"data":"1 example.com. ipv6hint=2001:db8:122:344::c000:221"}
SVCB | 0010 03666f6f076578616d706c65036f726700 0000 0004 00010004 0001 0003 026832 0004 0004 c0000201 | {"data":"16 foo.example.org. mandatory=alpn,ipv4hint alpn=\"h2\" ipv4hint=192.0.2.1"}
SVCB | 0010 03666f6f076578616d706c65036f726700 0001 000c 08665c6f6f2c626172 026832 | {"data":"16 foo.example.org. alpn=\"f\\\\\\\\oo\\\\,bar,h2\""}
HTTPS | 0001 00 0001 0006 026832026833 0002 0000 0005 0003 010203 0008 0000 ffff 0000 | {"data":"1 . alpn=\"h2,h3\" no-default-alpn ech=AQID ohttp key65535"}
HTTPS | 0001 00 0001 0003 026832 0007 0010 2f646e732d71756572797b3f646e737d | {"data":"1 . alpn=\"h2\" dohpath=\"/dns-query{?dns}\""}
`
  .trim()
  .split('\n')
  .map((line) => line.split(' | '));

test.each(RECORDS)('%s data %s are the record with %s', (type = '', octets = '', expected = '') => {
  expect(fields(type, hex(octets))).toEqual(JSON.parse(expected));
});

test.each<[string, readonly string[]]>([
  ['A', ['c00002', 'c000020101', '']],
  ['AAAA', ['20010db8000000000000000000000001 00', '20010db80000000000000000000000']],
  ['NS', ['', '01 61', '01 61 00 00', '41 61', '80 61', 'c0']],
  ['CNAME', ['00 00']],
  ['PTR', ['3f 61 00']],
  ['SOA', [`00 00 ${'00000001'.repeat(4)} 000001`, `00 00 ${'00000001'.repeat(5)} 00`]],
  ['TXT', ['', '02 61', '01 61 01']],
  ['MX', ['000a', '0a 00']],
  ['SRV', ['0001 0002 03 00']],
  ['CAA', ['00', '00 00 61', '00 05 61']],
  ['NAPTR', ['0001 0002 00 00 00']],
  ['HINFO', ['01 61', '01 61 01 61 00']],
])('data of type %s that break off, or go on, make the answer malformed: %j', (type, all) => {
  expect(all.map((octets) => fields(type, hex(octets)))).toEqual(all.map(() => 'malformed'));
});

test.each([
  ['keys out of order', '0001 00 0003 0002 0035 0001 0003 026832'],
  ['a key twice', '0001 00 0003 0002 0035 0003 0002 0035'],
  ['a port of three octets', '0001 00 0003 0003 003500'],
  ['no port', '0001 00 0003 0000'],
  ['an address of three octets', '0001 00 0004 0003 c00002'],
  ['no address', '0001 00 0004 0000'],
  ['a value where none belongs', '0001 00 0002 0001 00'],
  ['an empty protocol', '0001 00 0001 0001 00'],
  ['a value that breaks off', '0001 00 0001 0004 026832'],
  ['half a key', '0001 00 00'],
  ['no target', '0001'],
])('HTTPS data with %s are in the form of RFC 3597', (_name, octets) => {
  const rdata = hex(octets);
  expect(fields('HTTPS', rdata)).toEqual({
    data: String.raw`\# ${rdata.length} ${rdata.toString('hex').toUpperCase()}`,
  });
});

describe('names in rdata', () => {
  test.each<[string, string, unknown]>([
    ['NS', '026e73 c00c', { target: 'ns.example.test' }],
    ['CNAME', 'c00c', { target: 'example.test' }],
    ['MX', '000a 046d61696c c00c', { pri: 10, target: 'mail.example.test' }],
    ['SRV', '0001 0002 0003 c00c', { pri: 1, weight: 2, port: 3, target: 'example.test' }],
    ['DNAME', '0161 c00c', { data: 'a.example.test.' }],
    ['RP', '0161 c00c c00c', { data: 'a.example.test. example.test.' }],
    ['MB', '0141 c00c', { data: 'a.example.test.' }],
    ['AFSDB', '0001 c00c', { data: '1 example.test.' }],
    ['MINFO', 'c00c 00', { data: 'example.test. .' }],
    // Into the midst of a name.
    ['NS', '026e73 c014', { target: 'ns.test' }],
  ])('%s %s: a pointer is followed', (type, octets, expected) => {
    expect(fields(type, hex(octets))).toEqual(expected);
  });

  // The rdata begins at 0x2a.
  test.each([
    ['to itself', 'c02a'],
    ['forwards', 'c02c 0000'],
    ['to a label before itself', '0161 c02a'],
    ['into the header', 'c000'],
    ['behind the message', 'ffff'],
  ])('a pointer %s makes the answer malformed', (_name, rdata) => {
    expect(fields('NS', hex(rdata))).toBe('malformed');
  });

  test('nor may one lead forwards to a name that another pointer has led to', () => {
    // The name in the second record, behind the question, the first one and its own head.
    const pointer = uint16(0xc000 | (FIRST_RECORD + 12 + 2 + 11));
    const named = rr(Buffer.of(0), 65_280, nameOctets('a'));
    const owned = (owner: Buffer) => rr(owner, 2, nameOctets('b'));
    expect(readRecords('NS', named, owned(uint16(0xc00c)))).toMatchObject({ kind: 'answered' });
    const forwards = readRecords('NS', rr(uint16(0xc00c), 2, pointer), named, owned(pointer));
    expect(forwards).toMatchObject({ failure: { code: 'malformed' } });
  });

  test('a CNAME beside the queried records must be whole', () => {
    const alias = (rdata: Buffer) => rr(nameOctets('x'), 5, rdata);
    const address = Buffer.of(192, 0, 2, 1);
    expect(fields('A', address, alias(hex('0161 00')))).toEqual({ ip: '192.0.2.1' });
    expect(fields('A', address, alias(hex('0161 00 00')))).toBe('malformed');
    expect(fields('A', address, alias(hex('0161')))).toBe('malformed');
  });

  test('names of up to 127 labels and 255 octets are taken, with what pointers add', () => {
    const labels = Array.from({ length: 127 }, () => 'a').join('.');
    expect(fields('NS', nameOctets(labels))).toEqual({ target: labels });
    expect(fields('NS', nameOctets(`a.${labels}`))).toBe('malformed');
    const label = 'a'.repeat(63);
    const fits = `${label}.${label}.${label}.${'a'.repeat(61 - OWNER.length - 1)}`;
    const octets = (text: string) => Buffer.concat([nameOctets(text).subarray(0, -1), hex('c00c')]);
    expect(fields('NS', octets(fits))).toEqual({ target: `${fits}.${OWNER}` });
    expect(fields('NS', octets(`${fits}a`))).toBe('malformed');
  });

  test('a chain of pointers that never ends in a name is malformed, not slow', () => {
    // 6,000 pointers, each to the one before it, are in the data of a record that was not queried.
    const pointer = (at: number) => uint16(0xc000 | (FIRST_RECORD + 11 + at * 2));
    const pointers = Array.from({ length: 6000 }, (_, at) => pointer(at));
    const before = rr(Buffer.of(0), 65_280, Buffer.concat([Buffer.of(0, 0), ...pointers]));
    expect(fields('NS', pointer(6000), before)).toBe('malformed');
    expect(fields('NS', pointer(100), before)).toEqual({ target: '.' });
  });

  test('octets of labels are exact', () => {
    expect(fields('NS', textOctets(String.raw`\003a.B\004\000\255 \092\000`))).toEqual({
      target: String.raw`a\.b.\000\255\032\\`,
    });
  });
});

test('the numbers of the types are those of dns-packet', () => {
  const others = ['NAPTR', 'NS', 'NSEC', 'PTR', 'RP', 'RRSIG', 'SOA', 'SRV', 'SSHFP', 'TLSA', 'TXT'] as const;
  const some = ['A', 'AAAA', 'AFSDB', 'CAA', 'CDS', 'CDNSKEY', 'CNAME', 'DNAME', 'DNSKEY', 'DS'] as const;
  for (const type of [...some, 'HINFO', 'LOC', 'MX', ...others] as const) {
    expect(encode({ questions: [{ name: '.', type }] }).readUInt16BE(13), type).toBe(typeNumber(type));
  }
});
