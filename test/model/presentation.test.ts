import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dnsRecordData, parseDnsRecord } from '../../src/model/dns-record.js';

function parse(type: string, fields: Readonly<Record<string, unknown>>) {
  return parseDnsRecord({ host: 'example.com', class: 'IN', type, ...fields });
}

const digest = '2BB183AF5F22588179A53B0A98631FAD1A292118';

test.each([
  ['DS', '60485 5 1 ( 2bb183af5f22 )', '60485 5 1 ( 2bb183af5f22 )'],
  ['DS', '60485 5 1 2BB183AF5F22588179A5 3B0A98631FAD1A292118', `60485 5 1 ${digest}`],
  ['DS', '\t60485  5 1\n2bb183af 5f225881 79a53b0a 98631fad 1a292118 ', `60485 5 1 ${digest}`],
  ['DS', '60485 RSASHA1 1 2bb1', '60485 RSASHA1 1 2BB1'],
  ['CDS', '0 0 0 0 0', '0 0 0 00'],
  ['TLSA', '3 1 1 ab cd', '3 1 1 ABCD'],
  ['SSHFP', '4 2 ab cd', '4 2 ABCD'],
  ['DS', String.raw`\# 3 0a 0b 0c`, String.raw`\# 3 0A0B0C`],
  ['DS', '1 2 3', '1 2 3'],
  ['DS', 'not hexadecimal at all', 'not hexadecimal at all'],
  ['DNSKEY', '257 3 8  AwEA aagA', '257 3 8 AwEA aagA'],
  ['SPF', '"a  b"   "c"', '"a  b" "c"'],
  ['SPF', String.raw`"a \"  b"  c\ \  d`, String.raw`"a \"  b" c\ \  d`],
  ['SPF', String.raw`\"a  b\"`, String.raw`\"a b\"`],
  ['SPF', '"open  end ', '"open  end '],
  ['SPF', '"a\\', '"a\\'],
  ['SPF', 'a\\', 'a\\'],
  ['LOC', '52 22 23.000 N\r\n 4 53 32.000 E', '52 22 23.000 N 4 53 32.000 E'],
  ['URI', '10 1 "https://é.example/\u00a0"', '10 1 "https://é.example/\u00a0"'],
])('%s %j is %j', (type, data, canonical) => {
  expect(dnsRecordData(parse(type, { data }))).toMatchObject({ data: canonical });
  expect(dnsRecordData(parse(type, { data: canonical }))).toMatchObject({ data: canonical });
});

test('a canonical text stays as it is', () => {
  const token = fc.constantFrom(' ', '\t', '\n', '"', '\\', 'a', 'é', '\\"', '1', '(', ';');
  fc.assert(
    fc.property(
      fc.array(token, { minLength: 1 }),
      fc.constantFrom('DS', 'SSHFP', 'HTTPS'),
      (tokens, type) => {
        const given = tokens.join('');
        fc.pre(given.trim() !== '');
        const record = parse(type, { data: given });
        expect(parse(type, { data: dnsRecordData(record)['data'] })).toEqual(record);
      },
    ),
    { numRuns: 1000 },
  );
});

test.each(['', ' ', '\t\n'])('%j, which is empty, is refused', (data) => {
  expect(() => parse('HTTPS', { data })).toThrow('data: it is empty.');
  expect(() => parse('DS', { data })).toThrow('data: it is empty.');
});

test('data that no answer can hold is refused', () => {
  const largest = `\\# 65535 ${'00'.repeat(65_535)}`;
  expect(dnsRecordData(parse('TYPE1234', { data: largest }))).toMatchObject({ data: largest });
  expect(() => parse('TYPE1234', { data: 'x'.repeat(262_141) })).toThrow('longer than 65535 octets');
});
