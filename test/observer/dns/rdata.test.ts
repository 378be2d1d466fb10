import { type Answer, encode } from 'dns-packet';
import { describe, expect, test } from 'vitest';
import { parseDnsRecord } from '../../../src/model/dns-record.js';
import { canonicalType, typeNumber } from '../../../src/model/dns-types.js';
import { readAnswer } from '../../../src/observer/dns/evidence.js';
import { createQuestion, type Question, responseTo } from '../../../src/observer/dns/message.js';
import { nameOctets, textOctets, uint16, uint32 } from '../../support/dns-octets.js';

const OWNER = 'example.test';

/** What is read from a response with these octets as the one answer to a question for the type. */
function read(type: string, rdata: Buffer, before: Buffer = Buffer.alloc(0)) {
  const number = typeNumber(type) ?? 0;
  const question = createQuestion(OWNER, canonicalType(type) ?? type);
  const answers = before.length === 0 ? 1 : 2;
  const message = Buffer.concat([
    ...[uint16(1, 0x8180, 1, answers, 0, 0), question.section, before],
    ...[uint16(0xc00c, number, 1), uint32(60), uint16(rdata.length), rdata],
  ]);
  return readMessage(question, message);
}

function readMessage(question: Question, message: Buffer): ReturnType<typeof readAnswer> {
  const response = responseTo(question, 1, message);
  if (response === undefined) throw new Error('The message is a response.');
  return readAnswer('the server', question, response);
}

/** The one record's own fields, or what else came out. */
function fields(type: string, rdata: Buffer, before?: Buffer): unknown {
  const reading = read(type, rdata, before);
  if (reading.kind !== 'answered') return reading.failure.code;
  const [record] = reading.records;
  expect(reading.records).toHaveLength(1);
  expect(record).toMatchObject({ host: OWNER, class: 'IN', type: canonicalType(type) });
  const own = JSON.parse(record?.rdata ?? '');
  // An observed record is equal to the same one imported.
  expect(parseDnsRecord({ host: OWNER, class: 'IN', type: canonicalType(type), ...own })).toEqual(record);
  return own;
}

/** The rdata in a message that dns-packet has made of it. */
function packed(answer: Answer): Buffer {
  return encode({ type: 'response', answers: [answer] }).subarray(12 + 1 + 10);
}

const hex = (text: string) => Buffer.from(text.replaceAll(/\s/g, ''), 'hex');
const name = '.' as const;

describe('types with fields of their own, in the octets that dns-packet makes of them', () => {
  test.each<[Answer, unknown]>([
    [{ name, type: 'A', data: '192.0.2.255' }, { ip: '192.0.2.255' }],
    [{ name, type: 'AAAA', data: '2001:db8:0:0:1:0:0:1' }, { ipv6: '2001:db8::1:0:0:1' }],
    [{ name, type: 'AAAA', data: '::ffff:192.0.2.1' }, { ipv6: '::ffff:192.0.2.1' }],
    [{ name, type: 'NS', data: 'NS1.Example.NET' }, { target: 'ns1.example.net' }],
    [{ name, type: 'CNAME', data: '.' }, { target: '.' }],
    [{ name, type: 'PTR', data: '_host._tcp.example.net' }, { target: '_host._tcp.example.net' }],
    [
      {
        ...{ name, type: 'SOA' },
        data: {
          ...{ mname: 'ns.example.net', rname: 'host\\.master.example.net', serial: 4_294_967_295 },
          ...{ refresh: 2_147_483_648, retry: 1, expire: 0, minimum: 4_294_967_294 },
        },
      },
      {
        ...{ mname: 'ns.example.net', rname: String.raw`host\.master.example.net`, serial: 4_294_967_295 },
        ...{ refresh: 2_147_483_648, retry: 1, expire: 0, 'minimum-ttl': 4_294_967_294 },
      },
    ],
    [
      {
        name,
        type: 'TXT',
        data: ['v=spf1 ', Buffer.alloc(0), 'é"\\', Buffer.from([0, 255, 0x5c, 0x30, 0x30, 0x30])],
      },
      {
        txt: String.raw`v=spf1 é"\\000\255\092000`,
        entries: ['v=spf1 ', '', 'é"\\', String.raw`\000\255\092000`],
      },
    ],
    [
      { name, type: 'MX', data: { preference: 65_535, exchange: 'Mail.example.net' } },
      { pri: 65_535, target: 'mail.example.net' },
    ],
    [
      { name, type: 'SRV', data: { priority: 1, weight: 2, port: 65_535, target: 'sip.example.net' } },
      { pri: 1, weight: 2, port: 65_535, target: 'sip.example.net' },
    ],
    [
      { name, type: 'CAA', data: { flags: 128, tag: 'issue', value: 'ca.example.net; a="é"' } },
      { flags: 128, tag: 'issue', value: 'ca.example.net; a="é"' },
    ],
    [
      { name, type: 'CAA', data: { flags: 0, tag: 'issue', value: '' } },
      { flags: 0, tag: 'issue', value: '' },
    ],
    [
      {
        ...{ name, type: 'NAPTR' },
        data: {
          ...{ order: 100, preference: 65_535, flags: 'u', services: 'E2U+sip' },
          ...{ regexp: '!^.*$!sip:a@example.net!', replacement: '.' },
        },
      },
      {
        ...{ order: 100, pref: 65_535, flags: 'u', services: 'E2U+sip' },
        ...{ regex: '!^.*$!sip:a@example.net!', replacement: '.' },
      },
    ],
    [
      { name, type: 'HINFO', data: { cpu: 'AMD64', os: '' } },
      { cpu: 'AMD64', os: '' },
    ],
  ])('%j', (answer, expected) => {
    expect(fields(answer.type, packed(answer))).toEqual(expected);
  });

  test('octets that no text can hold are escaped in CAA, NAPTR and HINFO as they are in TXT', () => {
    expect(fields('CAA', hex('00 05 6973737565 61 00 ff 5c303635 c3a9'))).toEqual({
      ...{ flags: 0, tag: 'issue' },
      value: String.raw`a\000\255\092065é`,
    });
    expect(fields('HINFO', hex('02 00ff 01 5c'))).toEqual({ cpu: String.raw`\000\255`, os: '\\' });
    expect(fields('NAPTR', hex('0001 0002 01 ff 01 00 01 80 00'))).toEqual({
      ...{ order: 1, pref: 2, flags: String.raw`\255`, services: String.raw`\000` },
      ...{ regex: String.raw`\128`, replacement: '.' },
    });
  });

  test.each([
    ['A', 'c00002'],
    ['A', 'c000020101'],
    ['A', ''],
    ['AAAA', '20010db8000000000000000000000001 00'],
    ['AAAA', '20010db80000000000000000000000'],
    ['NS', ''],
    ['NS', '01 61'],
    ['NS', '01 61 00 00'],
    ['NS', '41 61'],
    ['NS', '80 61'],
    ['NS', 'c0'],
    ['CNAME', '00 00'],
    ['PTR', '3f 61 00'],
    ['SOA', '00 00 00000001 00000001 00000001 00000001 000001'],
    ['SOA', '00 00 00000001 00000001 00000001 00000001 00000001 00'],
    ['TXT', ''],
    ['TXT', '02 61'],
    ['TXT', '01 61 01'],
    ['MX', '000a'],
    ['MX', '0a 00'],
    ['SRV', '0001 0002 03 00'],
    ['CAA', '00'],
    ['CAA', '00 00 61'],
    ['CAA', '00 05 61'],
    ['NAPTR', '0001 0002 00 00 00'],
    ['HINFO', '01 61'],
    ['HINFO', '01 61 01 61 00'],
  ])('%s with the data %j makes the answer malformed', (type, octets) => {
    expect(fields(type, hex(octets))).toBe('malformed');
  });
});

describe('types in the presentation of master files', () => {
  const digest = 'D4B7D520E7BB5F0F67674A0CCEB1E3E0614B93C4F9E99B8383F6A1E4469DA50A';
  const key = 'mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ==';

  test.each<[string, Answer, string]>([
    // RFC 4034, section 5.4; RFC 8080, section 6.2.
    [
      'DS',
      {
        name,
        type: 'DS',
        data: {
          keyTag: 60_485,
          algorithm: 5,
          digestType: 1,
          digest: hex('2bb183af5f22588179a53b0a98631fad1a292118'),
        },
      },
      '60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118',
    ],
    [
      'CDS',
      { name, type: 'DS', data: { keyTag: 55_648, algorithm: 13, digestType: 2, digest: hex(digest) } },
      `55648 13 2 ${digest}`,
    ],
    [
      'DNSKEY',
      { name, type: 'DNSKEY', data: { flags: 257, algorithm: 13, key: Buffer.from(key, 'base64') } },
      `257 3 13 ${key}`,
    ],
    ['CDNSKEY', { name, type: 'DNSKEY', data: { flags: 0, algorithm: 0, key: Buffer.of(0) } }, '0 3 0 AA=='],
    [
      'TLSA',
      { name, type: 'TLSA', data: { usage: 3, selector: 1, matchingType: 1, certificate: hex(digest) } },
      `3 1 1 ${digest}`,
    ],
    [
      'SMIMEA',
      { name, type: 'TLSA', data: { usage: 3, selector: 0, matchingType: 0, certificate: hex('30') } },
      '3 0 0 30',
    ],
    ['SSHFP', { name, type: 'SSHFP', data: { algorithm: 4, hash: 2, fingerprint: digest } }, `4 2 ${digest}`],
    ['DNAME', { name, type: 'DNAME', data: 'Other.Example.NET' }, 'other.example.net.'],
    ['RP', { name, type: 'RP', data: { mbox: 'Admin.example.net', txt: '.' } }, 'admin.example.net. .'],
  ])('%s: %j', (type, answer, data) => {
    expect(fields(type, packed(answer))).toEqual({ data });
  });
});

describe('SVCB and HTTPS: the test vectors of RFC 9460, appendix D, and what breaks the rules', () => {
  const target = '03 66 6f 6f 07 65 78 61 6d 70 6c 65 03 63 6f 6d 00';
  const org = '03 66 6f 6f 07 65 78 61 6d 70 6c 65 03 6f 72 67 00';
  test.each([
    ['HTTPS', `0000 ${target}`, '0 foo.example.com.'],
    ['SVCB', '0001 00', '1 .'],
    ['SVCB', `0010 ${target} 0003 0002 0035`, '16 foo.example.com. port=53'],
    ['SVCB', `0001 ${target} 029b 0005 68656c6c6f`, '1 foo.example.com. key667="hello"'],
    [
      'SVCB',
      `0001 ${target} 029b 0009 68656c6c6fd2716f6f`,
      String.raw`1 foo.example.com. key667="hello\210qoo"`,
    ],
    [
      'SVCB',
      `0001 ${target} 0006 0020 20010db8000000000000000000000001 20010db8000000000000000000530001`,
      '1 foo.example.com. ipv6hint=2001:db8::1,2001:db8::53:1',
    ],
    [
      'SVCB',
      '0001 07 6578616d706c65 03 636f6d 00 0006 0010 20010db80122034400000000c0000221',
      '1 example.com. ipv6hint=2001:db8:122:344::c000:221',
    ],
    [
      'SVCB',
      `0010 ${org} 0000 0004 00010004 0001 0009 02 6832 05 68332d3139 0004 0004 c0000201`,
      '16 foo.example.org. mandatory=alpn,ipv4hint alpn="h2,h3-19" ipv4hint=192.0.2.1',
    ],
    [
      'SVCB',
      `0010 ${org} 0001 000c 08 665c6f6f2c626172 02 6832`,
      String.raw`16 foo.example.org. alpn="f\\\\oo\\,bar,h2"`,
    ],
    [
      'HTTPS',
      '0001 00 0001 0006 02 6832 02 6833 0002 0000 0005 0003 010203 0008 0000 ffff 0000',
      '1 . alpn="h2,h3" no-default-alpn ech=AQID ohttp key65535',
    ],
    [
      'HTTPS',
      `0001 00 0001 0003 02 6832 0007 0010 ${Buffer.from('/dns-query{?dns}').toString('hex')}`,
      '1 . alpn="h2" dohpath="/dns-query{?dns}"',
    ],
  ])('%s %j is %s', (type, octets, data) => {
    expect(fields(type, hex(octets))).toEqual({ data });
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
  ])('with %s it is in the form of RFC 3597', (_name, octets) => {
    const rdata = hex(octets);
    expect(fields('HTTPS', rdata)).toEqual({
      data: String.raw`\# ${rdata.length} ${rdata.toString('hex').toUpperCase()}`,
    });
  });
});

describe('names in rdata', () => {
  const suffix = 12 + 'xexample'.length;

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
  ])('%s %s: a pointer is followed', (type, octets, expected) => {
    expect(fields(type, hex(octets))).toEqual(expected);
  });

  test('a pointer may lead into the midst of a name', () => {
    expect(fields('NS', Buffer.concat([hex('026e73'), uint16(0xc000 | suffix)]))).toEqual({
      target: 'ns.test',
    });
  });

  test.each([
    ['to itself', (at: number) => uint16(0xc000 | at)],
    ['forwards', (at: number) => uint16(0xc000 | (at + 2), 0)],
    ['to a label before itself', (at: number) => Buffer.concat([hex('0161'), uint16(0xc000 | at)])],
    ['into the header', () => uint16(0xc000)],
    ['behind the message', () => uint16(0xffff)],
  ])('a pointer %s makes the answer malformed', (_name, rdata) => {
    const rdataStart = 12 + nameOctets(OWNER).length + 4 + 12;
    expect(fields('NS', rdata(rdataStart))).toBe('malformed');
  });

  test('nor may one lead forwards to a name that another pointer has led to', () => {
    const question = createQuestion(OWNER, 'NS');
    const start = 12 + question.section.length;
    // A record with the pointer, one with the name, and one whose owner is a pointer to that name.
    const place = start + 12 + 2 + 11;
    const record = (owner: Buffer, type: number, rdata: Buffer) =>
      Buffer.concat([owner, uint16(type, 1), uint32(0), uint16(rdata.length), rdata]);
    const message = Buffer.concat([
      ...[uint16(1, 0x8180, 1, 3, 0, 0), question.section],
      record(uint16(0xc00c), 2, uint16(0xc000 | place)),
      record(Buffer.of(0), 65_280, nameOctets('a')),
      record(uint16(0xc000 | place), 2, nameOctets('b')),
    ]);
    expect([...message.subarray(place, place + 3)]).toEqual([1, 0x61, 0]);
    expect(readMessage(question, message)).toMatchObject({ failure: { code: 'malformed' } });
  });

  test('a CNAME beside the queried records must be whole', () => {
    const alias = (rdata: Buffer) =>
      Buffer.concat([nameOctets('x'), uint16(5, 1), uint32(0), uint16(rdata.length), rdata]);
    const address = Buffer.of(192, 0, 2, 1);
    expect(fields('A', address, alias(hex('0161 00')))).toEqual({ ip: '192.0.2.1' });
    expect(fields('A', address, alias(hex('0161 00 00')))).toBe('malformed');
    expect(fields('A', address, alias(hex('0161')))).toBe('malformed');
  });

  test('names of up to 255 octets are taken, with what pointers add', () => {
    const label = 'a'.repeat(63);
    const fits = `${label}.${label}.${label}.${'a'.repeat(61 - OWNER.length - 1)}`;
    const octets = (text: string) => Buffer.concat([nameOctets(text).subarray(0, -1), hex('c00c')]);
    expect(fields('NS', octets(fits))).toEqual({ target: `${fits}.${OWNER}` });
    expect(fields('NS', octets(`${fits}a`))).toBe('malformed');
  });

  test('127 labels are taken', () => {
    const labels = Array.from({ length: 127 }, () => 'a').join('.');
    expect(fields('NS', nameOctets(labels))).toEqual({ target: labels });
    expect(fields('NS', nameOctets(`a.${labels}`))).toBe('malformed');
  });

  test('a chain of pointers that never ends in a name is malformed, not slow', () => {
    // 6,000 pointers, each to the one before it, are in the data of a record that was not queried.
    const start = 12 + nameOctets(OWNER).length + 4;
    const pointers = Array.from({ length: 6000 }, (_, at) => uint16(0xc000 | (start + 11 + at * 2)));
    const chain = Buffer.concat([Buffer.of(0, 0), ...pointers]);
    const before = Buffer.concat([Buffer.of(0), uint16(65_280, 1), uint32(0), uint16(chain.length), chain]);
    expect(fields('NS', uint16(0xc000 | (start + 11 + 6000 * 2)), before)).toBe('malformed');
    expect(fields('NS', uint16(0xc000 | (start + 11 + 100 * 2)), before)).toEqual({ target: '.' });
  });

  test('octets of labels are exact', () => {
    expect(fields('NS', textOctets(String.raw`\003a.B\004\000\255 \092\000`))).toEqual({
      target: String.raw`a\.b.\000\255\032\\`,
    });
  });
});

test('the numbers of the types are those of dns-packet', () => {
  const types = [
    ...([
      'A',
      'AAAA',
      'AFSDB',
      'CAA',
      'CDS',
      'CDNSKEY',
      'CNAME',
      'DNAME',
      'DNSKEY',
      'DS',
      'HINFO',
      'LOC',
    ] as const),
    ...(['MX', 'NAPTR', 'NS', 'NSEC', 'PTR', 'RP', 'RRSIG', 'SOA', 'SRV', 'SSHFP', 'TLSA', 'TXT'] as const),
  ];
  for (const type of types) {
    expect(encode({ questions: [{ name, type }] }).readUInt16BE(13), type).toBe(typeNumber(type));
  }
});
