import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareDnsRecords, parseDnsRecord } from '../../../src/model/dns-record.js';
import { canonicalType, typeNumber } from '../../../src/model/dns-types.js';
import { canonicalHostName, hostNameOctets } from '../../../src/model/host-name.js';
import { readAnswer } from '../../../src/observer/dns/evidence.js';
import { createQuestion, encodeQuery, responseTo } from '../../../src/observer/dns/message.js';
import { uint16, nameOctets as wireName } from '../../support/dns-octets.js';
import { rr } from '../../support/dns-records.js';

const TYPES = [
  ...['A', 'AAAA', 'NS', 'CNAME', 'PTR', 'SOA', 'TXT', 'MX', 'SRV', 'CAA', 'NAPTR', 'HINFO', 'DS', 'CDS'],
  ...['DNSKEY', 'CDNSKEY', 'TLSA', 'SMIMEA', 'SSHFP', 'DNAME', 'RP', 'OPENPGPKEY', 'URI', 'HTTPS', 'SVCB'],
  ...['LOC', 'MINFO', 'SIG', 'PX', 'TYPE65534'],
];

const octets = (maxLength: number) => fc.uint8Array({ maxLength }).map((array) => Buffer.from(array));
const type = fc.constantFrom(...TYPES);
const OWNER = 'example.test';
const MALFORMED = { failure: { code: 'malformed' } };

function read(asked: string, message: Buffer): ReturnType<typeof readAnswer> | undefined {
  const question = createQuestion(OWNER, canonicalType(asked) ?? asked);
  const response = responseTo(question, 1, message);
  return response && readAnswer('the server', question, response);
}

/** With these records as the answer. */
function messageTo(asked: string, ...records: readonly Buffer[]): Buffer {
  const { section } = createQuestion(OWNER, asked);
  return Buffer.concat([uint16(1, 0x8400, 1, records.length, 0, 0), section, ...records]);
}

/** Records in an order, each once, and such as an importer would take unchanged. */
function expectCanonical(reading: ReturnType<typeof read>): void {
  if (reading?.kind !== 'answered') return;
  reading.records.forEach((record, at) => {
    const { host, class: dnsClass, type: recordType, rdata } = record;
    expect(parseDnsRecord({ host, class: dnsClass, type: recordType, ...JSON.parse(rdata) })).toEqual(record);
    const before = reading.records[at - 1];
    if (before !== undefined) expect(compareDnsRecords(before, record)).toBeLessThan(0);
  });
}

describe('whatever a server sends', () => {
  test('any octets behind the question are read to an answer or a failure', () => {
    const counts = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(
        type,
        counts,
        // Not truncated, a response, and with an RCODE of 0 to 3: of others nothing is read.
        fc.integer({ min: 0, max: 0xffff }).map((flags) => (flags & 0x85f3) | 0x8000),
        octets(300),
        (asked, count, flags, rest) => {
          const { section } = createQuestion(OWNER, asked);
          expectCanonical(read(asked, Buffer.concat([uint16(1, flags, 1, ...count), section, rest])));
        },
      ),
      { numRuns: 2000 },
    );
  });

  test('any rdata of any type is read to a record in canonical form or a failure', () => {
    // Octets among which lengths, pointers and names are frequent.
    const frequent = [
      ...[[0xc0, 0x0c], [0], [1, 0x2e], [0, 1]].map((few) => Buffer.from(few)),
      wireName('A.b'),
    ];
    const piece = fc.oneof(octets(20), fc.constantFrom(...frequent));
    const rdata = fc.array(piece, { maxLength: 8 }).map((pieces) => Buffer.concat(pieces));
    fc.assert(
      fc.property(type, fc.array(rdata, { minLength: 1, maxLength: 4 }), (asked, all) => {
        const records = all.map((one) => rr(uint16(0xc00c), typeNumber(asked) ?? 0, one));
        expectCanonical(read(asked, messageTo(asked, ...records)));
      }),
      { numRuns: 5000 },
    );
  });

  test('a message that breaks off anywhere in its answers is malformed', () => {
    const one = rr(uint16(0xc00c), 15, Buffer.concat([uint16(10), wireName('mail.example.test')]));
    const message = messageTo('MX', one, one);
    expect(read('MX', message)?.kind).toBe('answered');
    for (let end = messageTo('MX').length; end < message.length; end += 1) {
      expect(read('MX', message.subarray(0, end)), `cut at ${end}`).toMatchObject(MALFORMED);
    }
  });

  test('a header that promises 65,535 records without having them is malformed', () => {
    const { section } = createQuestion(OWNER, 'A');
    for (const at of [0, 1, 2]) {
      const counts = [0, 0, 0].with(at, 65_535);
      expect(read('A', Buffer.concat([uint16(1, 0x8400, 1, ...counts), section]))).toMatchObject(MALFORMED);
    }
  });

  test('a message full of CNAMEs of one name, or of a chain without an end, is malformed and soon read', () => {
    const alias = (owner: Buffer, target: Buffer) => rr(owner, 5, target);
    const wide = Array.from({ length: 3000 }, (_, at) => alias(uint16(0xc00c), wireName(`n${at}`)));
    const deep = Array.from({ length: 2000 }, (_, at) =>
      alias(at === 0 ? uint16(0xc00c) : wireName(`n${at}`), wireName(`n${at + 1}`)),
    );
    for (const records of [wide, deep, deep.toReversed()]) {
      expect(read('A', messageTo('A', ...records))).toMatchObject({ ...MALFORMED, aliases: [] });
    }
  });
});

describe('a query', () => {
  test('carries any name octet by octet, its letters in lower case', () => {
    const label = fc.uint8Array({ minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(fc.array(label, { minLength: 1, maxLength: 6 }), (labels) => {
        const escaped = (octet: number) => `\\${String(octet).padStart(3, '0')}`;
        const lower = (octet: number) => (octet >= 0x41 && octet <= 0x5a ? octet + 0x20 : octet);
        const text = labels.map((wire) => Array.from(wire, escaped).join('')).join('.');
        const octets = labels.flatMap((wire) => [wire.length, ...Array.from(wire, lower)]);
        expect([...hostNameOctets(canonicalHostName(text))]).toEqual([...octets, 0]);
      }),
    );
  });

  test('is what RFC 1035 and RFC 6891 say: one question, recursion desired, 1,232 octets over UDP', () => {
    const question = createQuestion('a.test', 'CAA');
    const plain = '1234 0100 0001 0000 0000 0000 01 61 04 74657374 00 0101 0001';
    expect(encodeQuery(question, 0x1234, false).toString('hex')).toBe(plain.replaceAll(' ', ''));
    const withEdns = `1234 0100 0001 0000 0000 0001 ${plain.slice(30)} 00 0029 04d0 00000000 0000`;
    expect(encodeQuery(question, 0x1234, true).toString('hex')).toBe(withEdns.replaceAll(' ', ''));
    expect([...hostNameOctets('.')]).toEqual([0]);
  });
});
