import fc from 'fast-check';
import { MasterText } from '../../src/model/master-text.js';
import { rdataOctets } from '../../src/model/rdata-text.js';

/**
 * Rdata of every type without fields of its own that has a presentation: the type, a spelling that master
 * files may have (most of them the examples of the types' RFCs), and the canonical text where it is another,
 * which is what dig of BIND 9.18 prints with +nosplit for the octets.
 */
const EXAMPLES: readonly (readonly [type: string, written: string, canonical?: string])[] = [
  ['AFSDB', '1 a.'],
  ['AMTRELAY', '0 0 0 .'],
  ['AMTRELAY', '1 1 1 192.0.2.1'],
  ['AMTRELAY', '10 0 2 2001:db8::15'],
  ['AMTRELAY', '10 1 3 a.'],
  ['APL', '!2:FF00:0:0:0:0:0:0:0/8 1:10.0.0.0/8', '!2:ff00::/8 1:10.0.0.0/8'],
  ['APL', '1:192.0.2.1/24'],
  ['AVC', '"a b" c', '"a b" "c"'],
  ['BRID', 'AQ=='],
  ['CDNSKEY', '257 3 13 AQI='],
  ['CDS', '0 0 0 00'],
  ['CERT', '1 2 8 AQI=', 'PKIX 2 RSASHA256 AQI='],
  ['CERT', 'URI 0 0 AQ=='],
  ['CSYNC', '66 3 A NS AAAA'],
  ['CSYNC', '66 3'],
  ['DHCID', 'AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA='],
  ['DLV', `1 8 2 ${'ab'.repeat(32)}`, `1 8 2 ${'AB'.repeat(32)}`],
  ['DNAME', 'a.b.'],
  ['DNSKEY', '257 3 13 AQI='],
  ['DS', `1 5 1 ${'ab'.repeat(20)}`, `1 5 1 ${'AB'.repeat(20)}`],
  ['DS', `1 8 4 ${'ab'.repeat(48)}`, `1 8 4 ${'AB'.repeat(48)}`],
  ['DS', `1 RSASHA256 SHA-256 ${'ab'.repeat(32)}`, `1 8 2 ${'AB'.repeat(32)}`],
  [
    'DS',
    '60485 RSASHA1 1 ( 2bb183af5f22588179a5 3b0a98631fad1a292118 )',
    '60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118',
  ],
  ['DSYNC', 'CDS NOTIFY 5359 a.'],
  ['EUI48', '00-01-02-03-04-AB', '00-01-02-03-04-ab'],
  ['EUI64', '00-01-02-03-04-AB-01-02', '00-01-02-03-04-ab-01-02'],
  ['HHIT', 'AQ=='],
  ['HTTPS', '0 a.'],
  [
    'HTTPS',
    '1 foo. alpn=h2 ipv4hint=192.0.2.1,192.0.2.2 ech=AQID ipv6hint=2001:db8::1 key9="a b" no-default-alpn',
    '1 foo. alpn="h2" no-default-alpn ipv4hint=192.0.2.1,192.0.2.2 ech=AQID ipv6hint=2001:db8::1 key9="a b"',
  ],
  ['IPSECKEY', '10 0 2 . AQNR'],
  ['IPSECKEY', '10 1 2 192.0.2.38 AQNR'],
  ['IPSECKEY', '10 2 2 2001:db8::1 AQNR'],
  ['IPSECKEY', '10 3 2 mygw.example. AQNR'],
  ['KEY', '256 3 RSASHA256 AQI=', '256 3 8 AQI='],
  ['KEY', '49152 3 8'],
  ['KX', '10 a.'],
  ['L32', '10 10.1.2.0'],
  ['L64', '10 2001:0DB8:1140:1000', '10 2001:db8:1140:1000'],
  ['LOC', '42 21 54 N 71 06 18 W -24m 30m', '42 21 54.000 N 71 6 18.000 W -24.00m 30m 10000m 10m'],
  [
    'LOC',
    '42 21 54.123 S 71 06 18.999 E -24.12m 1.5 99m 0.55m',
    '42 21 54.123 S 71 6 18.999 E -24.12m 1m 90m 0.50m',
  ],
  ['LP', '10 a.'],
  ['MB', 'a.example.'],
  ['MD', 'a.example.'],
  ['MF', 'a.example.'],
  ['MG', 'a.example.'],
  ['MINFO', 'a. b.'],
  ['MR', 'A.example.', 'a.example.'],
  ['NID', '10 0014:4fff:ff20:ee64', '10 14:4fff:ff20:ee64'],
  ['NINFO', 'a b', '"a" "b"'],
  ['NSAP-PTR', 'a.'],
  ['NSEC', 'a.b. A MX RRSIG NSEC TYPE1234 URI', 'a.b. A MX RRSIG NSEC URI TYPE1234'],
  [
    'NSEC3',
    '1 0 10 aabb 2T7B4G4VSA5SMI47K61MV5BV1A22BOJR A RRSIG',
    '1 0 10 AABB 2T7B4G4VSA5SMI47K61MV5BV1A22BOJR A RRSIG',
  ],
  ['NSEC3PARAM', '1 0 10 -'],
  ['NSEC3PARAM', '1 0 10 aabb', '1 0 10 AABB'],
  ['OPENPGPKEY', 'AQ=='],
  ['PX', '10 a. b.'],
  ['RESINFO', 'qnamemin exterr=15-17', '"qnamemin" "exterr=15-17"'],
  ['RKEY', '0 3 5 AQ=='],
  ['RP', 'a. b.'],
  [
    'RRSIG',
    'A RSASHA256 2 60 20260101000000 1767225600 12 example.com. AQI=',
    'A 8 2 60 20260101000000 20260101000000 12 example.com. AQI=',
  ],
  ['RT', '10 a.'],
  ['SIG', 'A 8 2 60 20260101000000 20250101000000 12 example.com. AQI='],
  ['SMIMEA', `3 1 1 ${'ab'.repeat(32)}`, `3 1 1 ${'AB'.repeat(32)}`],
  ['SPF', 'a b "c d"', '"a" "b" "c d"'],
  ['SSHFP', `1 1 ${'ab'.repeat(20)}`, `1 1 ${'AB'.repeat(20)}`],
  ['SSHFP', `1 2 ${'ab'.repeat(32)}`, `1 2 ${'AB'.repeat(32)}`],
  ['SSHFP', '4 6 ab cd', '4 6 ABCD'],
  ['SVCB', '1 . port=443 alpn="h2,h3" mandatory=port,alpn', '1 . mandatory=alpn,port alpn="h2,h3" port=443'],
  ['TA', `1 8 2 ${'ab'.repeat(32)}`, `1 8 2 ${'AB'.repeat(32)}`],
  ['TALINK', 'a. b.'],
  ['TLSA', `3 1 1 ${'ab'.repeat(32)}`, `3 1 1 ${'AB'.repeat(32)}`],
  ['URI', '10 1 "ftp://a/"'],
  ['WALLET', 'BTC abc', '"BTC" "abc"'],
  ['ZONEMD', `2018031500 1 1 ${'ab'.repeat(48)}`, `2018031500 1 1 ${'AB'.repeat(48)}`],
  ['ZONEMD', `2018031500 1 240 ${'ab'.repeat(32)}`, `2018031500 1 240 ${'AB'.repeat(32)}`],
  ['APL', '', String.raw`\# 0`],
  [
    'HTTPS',
    String.raw`16 Foo.Example.Org. key667="hello\210qoo" mandatory=alpn alpn="f\\\\oo\\,bar,h2"`,
    String.raw`16 foo.example.org. mandatory=alpn alpn="f\\\\oo\\,bar,h2" key667="hello\210qoo"`,
  ],
  ['CERT', 'PGP 0 ED25519 AQIDBA=='],
  ['NSEC', 'alfa.example.com. RRSIG A MX TYPE1234 NSEC', 'alfa.example.com. A MX RRSIG NSEC TYPE1234'],
  ['SPF', 'v=spf1 -all', '"v=spf1" "-all"'],
  ['LOC', '52 22 23 N 4 53 32 E -2.00m 0.00m', '52 22 23.000 N 4 53 32.000 E -2.00m 0.00m 10000m 10m'],
];

export const RDATA_EXAMPLES = EXAMPLES.map(
  ([type, written, canonical = written]) => [type, written, canonical] as const,
);

/** Texts that earlier versions made of the rdata of types that nobody serves any more. */
export const RETIRED_EXAMPLES: readonly (readonly [type: string, text: string])[] = [
  ['A6', '0 2001:db8::1'],
  ['ATMA', '+1234'],
  ['DOA', '1 2 3 "a b" -'],
  ['EID', 'ABCD'],
  ['GPOS', '"-32.6882" "116.8652" "10.0"'],
  ['HIP', '2 200100107B1A74DF365639CC39F1D578 AwEAAQ== rvs.example.com. b.'],
  ['ISDN', '"1"'],
  ['NIMLOC', 'ABCD'],
  ['NSAP', '0x47000580005a00'],
  ['NXT', 'a. A NS SOA'],
  ['SINK', '1 2 3 AQ=='],
  ['WKS', '10.0.0.1 6 25 80'],
  ['X25', '"311061700956"'],
];

/** In a message, to the name asked for (RFC 1035, section 4.1.4). */
const POINTER = [0xc0, 0x0c];

/** A type, and octets near those of an example of it: some replaced, cut off or added. */
export const octetsNearExamples: fc.Arbitrary<[type: string, octets: Buffer]> = fc
  .constantFrom(...RDATA_EXAMPLES)
  .chain(([type, written]) => {
    const valid = rdataOctets(type, new MasterText(written));
    const octet = fc.nat({ max: 255 }).map((value) => [value]);
    const change = fc.tuple(fc.nat({ max: valid.length }), fc.oneof(octet, octet, fc.constant(POINTER)));
    return fc
      .tuple(fc.array(change, { maxLength: 3 }), fc.nat({ max: 2 }), fc.uint8Array({ maxLength: 2 }))
      .map(([changes, cut, added]): [string, Buffer] => {
        const octets = Buffer.from(valid.subarray(0, Math.max(valid.length - cut, 0)));
        for (const [at, values] of changes) {
          values.forEach((value, next) => {
            if (at + next < octets.length) octets[at + next] = value;
          });
        }
        return [type, Buffer.concat([octets, added])];
      });
  });
