import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dnsRecordData, parseDnsRecord } from '../../src/model/dns-record.js';
import { InvalidObservationError } from '../../src/model/errors.js';
import { RDATA_FIELDS } from '../../src/model/rdata-types.js';
import { dnsRecordInput } from '../support/dns-record-inputs.js';

type Fields = Readonly<Record<string, unknown>>;

function parse(type: string, fields: Fields) {
  return parseDnsRecord({ host: 'example.com', class: 'IN', type, ...fields });
}

/** The type's own fields in canonical form, as the JSON text that is stored. */
function rdata(type: string, fields: Fields): string {
  return parse(type, fields).rdata;
}

const soa = {
  mname: 'NS1.Example.com.',
  rname: String.raw`Host\.Master.example.com.`,
  serial: 4294967295,
  refresh: '7200',
  retry: 3600,
  expire: 1209600,
  'minimum-ttl': 0,
};
const srv = { pri: 10, weight: 0, port: 5060, target: 'sip.example.com' };
const naptr = {
  order: 100,
  pref: 10,
  flags: 'S',
  services: 'SIP+D2U',
  regex: '',
  replacement: '_sip._udp.example.com',
};

describe('own fields come in the order of the specification and in canonical form', () => {
  test.each<[string, Fields, string]>([
    ['A', { ip: '192.0.2.7' }, '{"ip":"192.0.2.7"}'],
    ['AAAA', { ipv6: '2001:0DB8:0:0:0:0:0:1' }, '{"ipv6":"2001:db8::1"}'],
    ['AAAA', { ipv6: '::FFFF:C000:0207' }, '{"ipv6":"::ffff:192.0.2.7"}'],
    ['NS', { target: 'NS1.Example.com.' }, '{"target":"ns1.example.com"}'],
    ['CNAME', { target: 'bücher.example' }, '{"target":"xn--bcher-kva.example"}'],
    ['PTR', { target: String.raw`a\ b.example` }, String.raw`{"target":"a\\032b.example"}`],
    [
      'SOA',
      soa,
      String.raw`{"mname":"ns1.example.com","rname":"host\\.master.example.com","serial":4294967295,"refresh":7200,"retry":3600,"expire":1209600,"minimum-ttl":0}`,
    ],
    ['SOA', Object.fromEntries(Object.entries(soa).reverse()), rdata('SOA', soa)],
    ['TXT', { txt: 'v=spf1 -all' }, '{"txt":"v=spf1 -all","entries":["v=spf1 -all"]}'],
    ['TXT', { txt: 'ab', entries: ['a', 'b'] }, '{"txt":"ab","entries":["a","b"]}'],
    ['TXT', { entries: ['a', 'b'] }, '{"txt":"ab","entries":["a","b"]}'],
    ['TXT', { entries: ['', ''] }, '{"txt":"","entries":["",""]}'],
    ['TXT', { txt: '' }, '{"txt":"","entries":[""]}'],
    ['MX', { pri: 10, target: 'MAIL.example.com' }, '{"pri":10,"target":"mail.example.com"}'],
    ['MX', { pri: 0, target: '.' }, '{"pri":0,"target":"."}'],
    ['MX', { pri: '0', target: '' }, '{"pri":0,"target":"."}'],
    ['SRV', srv, '{"pri":10,"weight":0,"port":5060,"target":"sip.example.com"}'],
    [
      'CAA',
      { flags: '128', tag: 'issue', value: 'ca.example; a="b"' },
      String.raw`{"flags":128,"tag":"issue","value":"ca.example; a=\"b\""}`,
    ],
    [
      'NAPTR',
      naptr,
      '{"order":100,"pref":10,"flags":"S","services":"SIP+D2U","regex":"","replacement":"_sip._udp.example.com"}',
    ],
    [
      'NAPTR',
      { ...naptr, regex: String.raw`!^.*$!sip:\1@a!`, replacement: '.' },
      String.raw`{"order":100,"pref":10,"flags":"S","services":"SIP+D2U","regex":"!^.*$!sip:\\1@a!","replacement":"."}`,
    ],
    ['HINFO', { cpu: 'RFC8482', os: '' }, '{"cpu":"RFC8482","os":""}'],
    [
      'DS',
      { data: '60485 5 1 2bb183af5f22588179a53b0a98631fad1a292118' },
      '{"data":"60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118"}',
    ],
    ['HTTPS', { data: ' 1  .\talpn="h2,h3" ' }, String.raw`{"data":"1 . alpn=\"h2,h3\""}`],
    ['TYPE65534', { data: String.raw`\# 4 0a 000001` }, String.raw`{"data":"\\# 4 0A000001"}`],
  ])('%s %j', (type, fields, expected) => {
    expect(rdata(type, fields)).toBe(expected);
  });
});

describe('integers', () => {
  test.each([
    [0, 0],
    [-0, 0],
    [65535, 65535],
    [4294967295, 4294967295],
    [1e3, 1000],
    ['0', 0],
    ['007', 7],
    ['4294967295', 4294967295],
  ])('%j is %s', (pri, expected) => {
    expect(rdata('MX', { pri, target: 'a' })).toBe(`{"pri":${expected},"target":"a"}`);
  });

  test.each([
    -1,
    4294967296,
    1.5,
    1e300,
    Number.NaN,
    '',
    ' 1',
    '1 ',
    '+1',
    '-1',
    '1.0',
    '1e3',
    '0x1',
    '4294967296',
    '١',
    true,
    null,
    [],
    {},
  ])('%j is rejected', (pri) => {
    expect(() => rdata('MX', { pri, target: 'a' })).toThrow(
      /^pri: .* is not an integer from 0 to 4294967295\.$/,
    );
  });
});

describe('the common fields', () => {
  test('host, class and type are canonical, and a ttl is dropped', () => {
    const data = { host: '*.Example.COM.', class: 'in', type: 'cname', target: 'A.', ttl: 300 };
    const record = { host: '*.example.com', class: 'IN', type: 'CNAME', rdata: '{"target":"a"}' };
    expect(parseDnsRecord(data)).toEqual(record);
    for (const ttl of [undefined, null, -1, 'x', {}])
      expect(parseDnsRecord({ ...data, ttl })).toEqual(record);
  });

  test.each([undefined, null, true, 1, 'x', [], [{}]])('%j is no record', (data) => {
    expect(() => parseDnsRecord(data)).toThrow(
      new InvalidObservationError('a record must be a JSON object.'),
    );
  });

  const valid = { host: 'a', class: 'IN', type: 'A', ip: '192.0.2.7' };

  test.each<[Fields, string]>([
    [{ ...valid, host: undefined }, 'host: it is missing.'],
    [{ ...valid, host: 1 }, 'host: it is not a string.'],
    [{ ...valid, host: 'a..b' }, 'host: "a..b" is not a host name: it has an empty label.'],
    [
      { ...valid, host: 'a\0b' },
      'host: "a\\u0000b" is not a host name: it contains U+0000; write it as \\000.',
    ],
    [{ ...valid, class: undefined }, 'class: it is missing.'],
    [{ ...valid, class: '' }, 'class: "" is not a mnemonic of DNS, such as MX or IN.'],
    [{ ...valid, class: null }, 'class: it is not a string.'],
    [{ ...valid, type: undefined }, 'type: it is missing.'],
    [{ ...valid, type: 1 }, 'type: it is not a string.'],
    [{ ...valid, type: '1A' }, 'type: "1A" is not a mnemonic of DNS, such as MX or IN.'],
    [{ ...valid, type: 'A\n' }, 'type: "A\\n" is not a mnemonic of DNS, such as MX or IN.'],
    [{ ...valid, type: 'A A' }, 'type: "A A" is not a mnemonic of DNS, such as MX or IN.'],
    [{ ...valid, type: 'ſ' }, 'type: "ſ" is not a mnemonic of DNS, such as MX or IN.'],
    [{ ...valid, ip: undefined }, 'ip: it is missing.'],
    [{ ...valid, ip: null }, 'ip: it is not a string.'],
    [
      { ...valid, ip: '192.0.2.07' },
      'ip: "192.0.2.07" is not an IPv4 address: write four decimals without leading zeros.',
    ],
    [
      { ...valid, type: 'AAAA' },
      'unknown key "ip" in a record of type AAAA: remove it, or write one of host, class, type, ttl, ipv6, data.',
    ],
    [{ ...valid, IP: '192.0.2.7' }, 'unknown key "IP" in a record of type A: write ip.'],
    [{ ...valid, data: '192.0.2.7' }, 'data: the record has ip too: write data or the fields of A.'],
    [
      { ...valid, constructor: 1 },
      'unknown key "constructor" in a record of type A: remove it, or write one of host, class, type, ttl, ip, data.',
    ],
    [
      { ...valid, type: 'DS' },
      'unknown key "ip" in a record of type DS: remove it, or write one of host, class, type, ttl, data.',
    ],
    [
      { ...valid, type: 'CONSTRUCTOR' },
      'type: the type "CONSTRUCTOR" is not known: write TYPE and its number, such as TYPE65534.',
    ],
    [{ ...valid, type: 'TYPE99999' }, 'type: no record can have the type "TYPE99999".'],
  ])('%j is rejected: %s', (data, reason) => {
    const present = Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined));
    expect(() => parseDnsRecord(present)).toThrow(new InvalidObservationError(reason));
  });

  test('a __proto__ key is rejected as any other', () => {
    const data: unknown = JSON.parse('{"host":"a","class":"IN","type":"A","__proto__":{"ip":"192.0.2.7"}}');
    expect(() => parseDnsRecord(data)).toThrow('unknown key "__proto__" in a record of type ');
  });

  test.each(['TYPE0', 'TYPE41', 'TYPE128', 'TYPE255', 'TYPE65535', 'any', 'AXFR', 'OPT', 'NXNAME'])(
    'no record has the type %s',
    (type) => {
      expect(() => parse(type, { data: String.raw`\# 0` })).toThrow(`no record can have the type "${type}".`);
    },
  );

  test('a type by its number is the one that has a name', () => {
    const address = { host: 'a', class: 'IN', type: 'A', ip: '192.0.2.7' };
    expect(parseDnsRecord({ ...address, type: 'type1' })).toEqual(parseDnsRecord(address));
    expect(parse('TYPE65280', { data: String.raw`\# 0` }).type).toBe('TYPE65280');
  });
});

describe('every field of every type', () => {
  const complete: Readonly<Record<string, Fields>> = {
    A: { ip: '192.0.2.7' },
    AAAA: { ipv6: '::1' },
    NS: { target: 'a' },
    CNAME: { target: 'a' },
    PTR: { target: 'a' },
    SOA: soa,
    TXT: { txt: 'a', entries: ['a'] },
    MX: { pri: 1, target: 'a' },
    SRV: srv,
    CAA: { flags: 0, tag: 'issue', value: 'a' },
    NAPTR: naptr,
    HINFO: { cpu: 'a', os: 'b' },
    DS: { data: '60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118' },
  };
  const fieldsOfTypes = Object.entries(complete).flatMap(([type, fields]) =>
    Object.keys(fields).map((name) => [type, name, fields] as const),
  );

  test('the table of types names no type that is not tested here', () => {
    expect(Object.keys(complete).sort()).toEqual([...RDATA_FIELDS.keys(), 'DS'].sort());
  });

  test.each(fieldsOfTypes)('%s: %s cannot be absent, but in TXT', (type, name, fields) => {
    const rest = Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name));
    if (type === 'TXT') expect(rdata(type, rest)).toBe(rdata(type, fields));
    else expect(() => rdata(type, rest)).toThrow(`${name}: it is missing.`);
  });

  test.each(fieldsOfTypes)('%s: %s cannot be null, nor an object', (type, name, fields) => {
    expect(() => rdata(type, { ...fields, [name]: null })).toThrow(new RegExp(`^${name}: `));
    expect(() => rdata(type, { ...fields, [name]: {} })).toThrow(new RegExp(`^${name}: `));
  });

  const texts = fieldsOfTypes.filter(([type]) => type !== 'TXT');
  test.each(texts)('%s: %s cannot hold U+0000 or a lone surrogate', (type, name, fields) => {
    expect(() => rdata(type, { ...fields, [name]: 'a\0b' })).toThrow(InvalidObservationError);
    expect(() => rdata(type, { ...fields, [name]: 'a\ud800b' })).toThrow(InvalidObservationError);
  });
});

test('other texts than addresses, names and data stay as they are', () => {
  const value = fc.string({ unit: 'binary' }).filter((text) => !text.includes('\0'));
  fc.assert(
    fc.property(value, value, (tag, text) => {
      const caa = dnsRecordData(parse('CAA', { flags: 0, tag, value: text }));
      expect(caa).toEqual({ host: 'example.com', class: 'IN', type: 'CAA', flags: 0, tag, value: text });
    }),
  );
});

test('texts that are too long for an answer are rejected', () => {
  expect(() => rdata('CAA', { flags: 0, tag: 'issue', value: 'x'.repeat(65_536) })).toThrow(
    'longer than 65535 octets',
  );
  expect(() => rdata('CAA', { flags: 0, tag: 'issue', value: 'é'.repeat(40_000) })).toThrow(
    'longer than 65535 octets',
  );
  const quotes = '"'.repeat(60_000);
  expect(dnsRecordData(parse('CAA', { flags: 0, tag: 'issue', value: quotes }))).toMatchObject({
    value: quotes,
  });
});

test('a record that was read, printed and read again is the same', () => {
  fc.assert(
    fc.property(dnsRecordInput, (data) => {
      const record = parseDnsRecord(data);
      const printed = dnsRecordData(record);
      const again: unknown = JSON.parse(JSON.stringify(printed));
      expect(parseDnsRecord(again)).toEqual(record);
      expect(Object.keys(printed).slice(0, 3)).toEqual(['host', 'class', 'type']);
      const fields = RDATA_FIELDS.get(record.type) ?? [{ name: 'data' }];
      expect(Object.keys(printed).slice(3)).toEqual(fields.map(({ name }) => name));
    }),
    { numRuns: 1000 },
  );
});

test('a class by its number is the class that has a name (RFC 3597, 5)', () => {
  const inClass = (name: string) =>
    parseDnsRecord({ host: 'a.test', class: name, type: 'A', ip: '192.0.2.1' }).class;
  expect(['IN', 'in', 'CLASS1', 'class3', 'CLASS4', 'CLASS9'].map(inClass)).toEqual([
    'IN',
    'IN',
    'IN',
    'CH',
    'HS',
    'CLASS9',
  ]);
});
