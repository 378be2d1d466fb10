import {
  type Asked,
  counted,
  otherType,
  type Reply,
  reply,
  rrsig,
  wanted,
} from '../../support/dns-evidence.js';
import { nameOctets as name, uint16 } from '../../support/dns-octets.js';
import { address, cname, dname, hex, ns, rr, SOA_RDATA, soa } from '../../support/dns-records.js';

/** The SOA of the zone above, which proves what it comes with to be absent. */
const PROOF = soa('test');
/** The root, type 41, payload size, upper bits of the RCODE, version, flags, length: 01 with 0 is 16, with 3 is 19. */
const EXTENDING = hex`00 0029 04d0 01 00 0000 0000`;
const [CH, NONE, ANY] = [3, 0xfe, 0xff];

const wantedOf = (owner: string) => (asked: Asked) => wanted(asked, name(owner));
const wantedIn = (dnsClass: number) => (asked: Asked) => wanted(asked, hex`c00c`, dnsClass);
const ownCname = (target: string) => (asked: Asked) => cname(asked.name, target);
const [AWAY, TO_B, TO_C] = [ownCname('away.invalid'), ownCname('b.test'), ownCname('c.test')];
const glue = (owner: Buffer) => rr(owner, 1, hex`cb007107`);

/** A reply with an SOA to a question that another one is in the place of. */
function toQuestion(change: (asked: Asked) => Buffer): Reply {
  return (asked) => hex`8180 0001 0000 0001 0000 ${change(asked)} ${PROOF}`;
}

/** Replies that prove nothing, whatever the query. */
export const PROVES_NOTHING: readonly (readonly [title: string, reply: Reply])[] = [
  // A server that neither has the zone (AA) nor queries others (RA) does not know.
  ['NOERROR, empty, with neither AA nor RA', reply('8100')],
  ['NXDOMAIN, empty, with neither AA nor RA', reply('8103')],
  ['NOERROR with an SOA, but with neither AA nor RA', reply('8100', [], [PROOF])],
  ['NXDOMAIN with an SOA, but with neither AA nor RA', reply('8103', [], [PROOF])],
  ['other records of the type, with neither AA nor RA', reply('8100', [wanted])],
  ['NOERROR, empty, from a server of the zone', reply('8500')],
  ['NXDOMAIN, empty, from a server of the zone (load balancers, for AAAA)', reply('8503')],
  ['NOERROR, empty, from a resolver, which no other confirms', reply('8180')],
  ['NXDOMAIN, empty, from a resolver, which no other confirms', reply('8183')],

  // RCODEs.
  ['NXDOMAIN with the very records', reply('8183', [wanted])],
  ['NXDOMAIN with the very records and an SOA', reply('8183', [wanted], [PROOF])],
  ['NXDOMAIN with a record of another type', reply('8183', [otherType], [PROOF])],
  ['SERVFAIL with an SOA', reply('8182', [], [PROOF])],
  ['REFUSED with other records of the type', reply('8185', [wanted])],
  ['NOTAUTH with an SOA', reply('8589', [], [PROOF])],
  ['BADVERS with an SOA', reply('8180', [], [PROOF], [EXTENDING])],
  ['RCODE 19, which begins as NXDOMAIN does, with an SOA', reply('8183', [], [PROOF], [EXTENDING])],
  ['two OPT records and an SOA', reply('8180', [], [PROOF], [EXTENDING, EXTENDING])],
  ['truncation with an SOA', reply('8380', [], [PROOF])],
  ['truncation, empty', reply('8380')],

  // What is no reply to the question.
  ['a reply to NOTIFY with an SOA', reply('a580', [], [PROOF])],
  ['a reply to UPDATE with an SOA', reply('a980', [], [PROOF])],
  ['a query with an SOA', reply('0180', [], [PROOF])],
  ['a reply without a question', () => hex`8180 0000 0000 0001 0000 ${PROOF}`],
  ['a reply whose question is not counted', counted('8180 0000 0000 0001 0000', PROOF)],
  ['a reply with the question twice', counted('8180 0002 0000 0001 0000', ({ section }) => section, PROOF)],
  ['a reply about another name', toQuestion(({ number }) => hex`${name('www.test')} ${uint16(number, 1)}`)],
  ['a reply about another type', toQuestion(({ owner }) => hex`${owner} 0063 0001`)],
  ['a reply about class CH', toQuestion(({ owner, number }) => hex`${owner} ${uint16(number, CH)}`)],

  // Counts and lengths.
  ['records that are not counted', counted('8180 0001 0000 0000 0000', wanted)],
  ['records that are not counted behind an SOA', counted('8180 0001 0000 0001 0000', PROOF, wanted)],
  ['an octet behind the SOA', counted('8180 0001 0000 0001 0000', PROOF, hex`00`)],
  ['an octet behind an empty NOERROR', counted('8180 0001 0000 0000 0000', hex`00`)],
  ['a count of one more record than there is', counted('8180 0001 0000 0001 0001', PROOF)],
  ['a count of an answer in whose place the SOA is', counted('8180 0001 0001 0000 0000', PROOF)],
  ['an SOA that is cut short', reply('8180', [], [PROOF.subarray(0, -1)])],
  ['an SOA without rdata', reply('8180', [], [rr(name('test'), 6, hex``)])],
  ['an SOA with rdata of an octet more', reply('8180', [], [rr(name('test'), 6, hex`${SOA_RDATA} 00`)])],
  ['records of the type whose rdata is none', reply('8180', [(q) => rr(hex`c00c`, q.number, hex`ff`)])],

  // Referrals (RFC 2308, section 2.2): NS and no SOA.
  ...['8100', '8180', '8500', '8580'].flatMap((flags): [string, Reply][] => [
    [`a referral to the root (flags ${flags})`, reply(flags, [], [ns('.')])],
    [`a referral to the zone above (flags ${flags})`, reply(flags, [], [ns('test')])],
    [`a referral to the name’s own servers (flags ${flags})`, reply(flags, [], [(q) => ns(q.name)])],
  ]),
  ['a referral with glue', reply('8180', [], [ns('test')], [address('ns.elsewhere.test')])],
  ['NXDOMAIN with NS records and no SOA', reply('8183', [], [ns('test')])],

  ['records of class CH', reply('8180', [wantedIn(CH)])],
  ['records of class ANY', reply('8180', [wantedIn(ANY)])],
  ['records of class CH, and an SOA', reply('8180', [wantedIn(CH)], [PROOF])],
  ['an SOA of class CH', reply('8180', [], [soa('test', CH)])],
  ['an SOA of class NONE', reply('8183', [], [soa('test', NONE)])],

  // Owners, types and sections.
  ['records of another owner', reply('8180', [wantedOf('other.test')])],
  ['records of another owner, and an SOA', reply('8180', [wantedOf('other.test')], [PROOF])],
  ['records of the zone above', reply('8180', [wantedOf('test')])],
  ['records of a wildcard', reply('8180', [wantedOf('*.test')])],
  ['records of another type', reply('8180', [otherType])],
  ['records of another type, and an SOA', reply('8180', [otherType], [PROOF])],
  ['an RRSIG alone', reply('8180', [rrsig])],
  ['the queried records, in the authority section', reply('8180', [], [wanted])],
  ['the queried records, in the additional section', reply('8180', [], [], [wanted])],
  ['the queried records, in the authority section beside an SOA', reply('8180', [], [wanted, PROOF])],
  ['the queried records, in the additional section beside an SOA', reply('8180', [], [PROOF], [wanted])],
  // NSEC (type 47): the next name, and a window that says A and nothing else.
  ['an NSEC without an SOA', reply('8180', [], [rr(hex`c00c`, 47, hex`${name('z.test')} 00 01 40`)])],

  // SOAs that say nothing of the name.
  ['an SOA of an unrelated zone', reply('8180', [], [soa('invalid')])],
  ['NXDOMAIN with an SOA of an unrelated zone', reply('8183', [], [soa('invalid')])],
  ['an SOA of a zone below the name', reply('8580', [], [(q) => soa(`gslb.${q.name}`)])],
  ['an SOA of a zone beside the name', reply('8180', [], [soa('other.test')])],
  ['an SOA whose name is an end of the name, but not of whole labels', reply('8180', [], [soa('mple.test')])],
  ['an SOA in the additional section', reply('8500', [], [], [PROOF])],
  ['an SOA of the zone above in the answer section', reply('8180', [PROOF])],

  // Names in messages: pointers lead back, and labels have at most 63 octets.
  [
    'an owner that points to itself',
    reply('8180', [], [(q) => rr(uint16(0xc00c + q.section.length), 6, SOA_RDATA)]),
  ],
  ['an owner that points behind the message', reply('8180', [], [rr(hex`ffff`, 6, SOA_RDATA)])],
  ['an owner of a label of another kind', reply('8180', [], [rr(hex`41 78 00`, 6, SOA_RDATA)])],
  // It is undecidable whether such a record was queried.
  ['glue whose owner points into the header', reply('8180', [], [PROOF], [glue(hex`c004`)])],
  ['glue whose owner points behind the message', reply('8180', [], [PROOF], [glue(hex`ffff`)])],
];

/** Chains that prove nothing of what stands at their end; of the CNAMEs themselves they do. */
export const CHAINS_WITHOUT_PROOF: readonly (readonly [title: string, reply: Reply])[] = [
  ['a CNAME to itself', reply('8180', [(q) => cname(q.name, q.name)])],
  ['a CNAME to itself, with an SOA', reply('8180', [(q) => cname(q.name, q.name)], [PROOF])],
  ['CNAMEs in a loop', reply('8180', [TO_B, (q) => cname('B.test', q.name)])],
  ['CNAMEs in a loop, with an SOA', reply('8180', [TO_B, (q) => cname('b.test', q.name)], [PROOF])],
  ['a CNAME without its end', reply('8180', [AWAY])],
  ['a CNAME without its end, from a server of the zone', reply('8500', [AWAY])],
  ['a CNAME without its end, NXDOMAIN', reply('8583', [AWAY])],
  ['a CNAME that leaves the zone of the SOA', reply('8580', [AWAY], [PROOF])],
  ['NXDOMAIN of a CNAME that leaves the zone of the SOA', reply('8583', [AWAY], [PROOF])],
  ['a CNAME without its end, with a referral', reply('8500', [AWAY], [ns('invalid')])],
  ['CNAMEs in reverse order without an end', reply('8180', [cname('b.test', 'away.invalid'), TO_B])],
  ['two CNAMEs of one owner', reply('8180', [TO_B, TO_C], [PROOF])],
  [
    'two CNAMEs of one owner, with addresses',
    reply('8180', [TO_B, TO_C, address('b.test'), address('c.test')]),
  ],
  ['a CNAME and records of its owner', reply('8180', [AWAY, wanted])],
  ['a CNAME and records of its owner, with an SOA', reply('8180', [TO_B, wanted], [PROOF])],
  [
    'a CNAME with the records of its end in the additional section',
    reply('8180', [TO_B], [PROOF], [wantedOf('b.test')]),
  ],
  ['a CNAME of class CH', reply('8180', [rr(hex`c00c`, 5, name('b.test'), CH), wantedOf('b.test')], [PROOF])],
  ['a CNAME of another owner', reply('8180', [cname('other.test', 'b.test')], [PROOF])],
  ['a CNAME with an octet too many', reply('8180', [rr(hex`c00c`, 5, hex`${name('b.test')} 00`)], [PROOF])],
  ['a DNAME without its end', reply('8180', [dname('test', 'away.invalid')])],
  [
    'a DNAME and its CNAME, without an end',
    reply('8180', [dname('test', 'invalid'), (q) => cname(q.name, q.name.replace(/test$/, 'invalid'))]),
  ],
  ['a DNAME and another CNAME', reply('8180', [dname('test', 'invalid'), TO_B], [PROOF])],
  ['a DNAME to below itself, which never ends', reply('8180', [dname('test', 'sub.test')], [PROOF])],
  ['a DNAME of the name itself', reply('8180', [(q) => dname(q.name, 'b.test'), wantedOf('b.test')])],
  [
    'a DNAME to a name of more than 255 octets',
    reply('8180', [dname('test', Array.from({ length: 4 }, () => 'x'.repeat(60)).join('.'))], [PROOF]),
  ],
  [
    'a DNAME and another CNAME, with records at its end',
    reply('8180', [dname('test', 'invalid'), ownCname('b.other'), wantedOf('b.other')]),
  ],
];
