import { expect, test } from 'vitest';
import { parseZone } from '../../src/importers/zone.js';
import { presentRdata } from '../../src/model/rdata-text.js';

/** The records of a zone file, each as one line. */
function linesOf(text: string, origin?: string): readonly string[] {
  return parseZone(text, origin).map((record) =>
    [record.host, record.class, record.type, presentRdata(record)].join(' '),
  );
}

test('names of a zone file are relative to the latest $ORIGIN, in the data of every type too, unless they end with a dot', () => {
  const zone = `@ MX 10 mail
@ HTTPS 1 svc alpn="h2,h3"
@ HTTPS 1 .
_sip._tcp SRV 1 2 3 sip.other.example.
@ RP @ text
@ TALINK before after.example.net.
$ORIGIN sub
www CNAME @
`;
  expect(linesOf(zone, 'example.com.')).toEqual([
    'example.com IN MX 10 mail.example.com.',
    'example.com IN HTTPS 1 svc.example.com. alpn="h2,h3"',
    'example.com IN HTTPS 1 .',
    '_sip._tcp.example.com IN SRV 1 2 3 sip.other.example.',
    'example.com IN RP example.com. text.example.com.',
    'example.com IN TALINK before.example.com. after.example.net.',
    'www.sub.example.com IN CNAME sub.example.com.',
  ]);
});

test('of types that nobody serves any more only octets are read, since which of their fields are names is not known', () => {
  expect(() => linesOf('@ HIP 2 2001 AwEA relay\n', 'example.com.')).toThrow('of type HIP: write \\#');
  expect(linesOf('@ HIP \\# 1 0a\n', 'example.com.')).toEqual(['example.com IN HIP \\# 1 0A']);
});

test('TTL and class of a zone file may be missing, and be in either order; without an owner it is the one before', () => {
  const zone = 'a. 1h30m IN A 192.0.2.1\n IN 60 A 192.0.2.2\n\tCLASS3 A 192.0.2.3\n TYPE65534 \\# 1 0A\n';
  expect(linesOf(zone)).toEqual([
    'a IN A 192.0.2.1',
    'a IN A 192.0.2.2',
    'a CH A 192.0.2.3',
    'a IN TYPE65534 \\# 1 0A',
  ]);
});

test('comments of a zone file end with the line, parentheses join lines, and in quotes or escaped both are text', () => {
  const zone = 'a. TXT ( "one;(" ; of two\n  two\\;2 ) ; after\n; all\n\nb\\.c. ( A 192.0.2.1 )\r\n';
  expect(linesOf(zone)).toEqual(['a IN TXT "one;(" "two;2"', 'b\\.c IN A 192.0.2.1']);
});
