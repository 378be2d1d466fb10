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
/** The root, type 41, payload size, upper bits of the RCODE, version, flags, length: 01 makes 0 a 16. */
const EXTENDING = hex`00 0029 04d0 01 00 0000 0000`;
const CH = 3;

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
  ['NOERROR with an SOA, but with neither AA nor RA', reply('8100', [], [PROOF])],
  ['other records of the type, with neither AA nor RA', reply('8100', [wanted])],
  ['NOERROR, empty, from a server of the zone', reply('8500')],
  ['NXDOMAIN, empty, from a server of the zone (load balancers, for AAAA)', reply('8503')],
  ['NOERROR, empty, from a resolver, which no other confirms', reply('8180')],

  // RCODEs.
  ['NXDOMAIN with the very records', reply('8183', [wanted])],
  ['SERVFAIL with an SOA', reply('8182', [], [PROOF])],
  ['REFUSED with other records of the type', reply('8185', [wanted])],
  ['BADVERS with an SOA', reply('8180', [], [PROOF], [EXTENDING])],
  ['two OPT records and an SOA', reply('8180', [], [PROOF], [EXTENDING, EXTENDING])],
  ['truncation with an SOA', reply('8380', [], [PROOF])],

  // What is no reply to the question.
  ['a reply to UPDATE with an SOA', reply('a980', [], [PROOF])],
  ['a reply without a question', () => hex`8180 0000 0000 0001 0000 ${PROOF}`],
  ['a reply with the question twice', counted('8180 0002 0000 0001 0000', ({ section }) => section, PROOF)],
  ['a reply about another name', toQuestion(({ number }) => hex`${name('www.test')} ${uint16(number, 1)}`)],

  // Counts and lengths.
  ['records that are not counted', counted('8180 0001 0000 0000 0000', wanted)],
  ['an octet behind the SOA', counted('8180 0001 0000 0001 0000', PROOF, hex`00`)],
  ['a count of one more record than there is', counted('8180 0001 0000 0001 0001', PROOF)],
  ['an SOA that is cut short', reply('8180', [], [PROOF.subarray(0, -1)])],

  // Referrals (RFC 2308, section 2.2): NS and no SOA.
  ...['8100', '8180', '8500', '8580'].flatMap((flags): [string, Reply][] => [
    [`a referral to the root (flags ${flags})`, reply(flags, [], [ns('.')])],
    [`a referral to the zone above (flags ${flags})`, reply(flags, [], [ns('test')])],
    [`a referral to the name’s own servers (flags ${flags})`, reply(flags, [], [(q) => ns(q.name)])],
  ]),
  ['a referral with glue', reply('8180', [], [ns('test')], [address('ns.elsewhere.test')])],

  ['records of class CH', reply('8180', [wantedIn(CH)])],
  ['an SOA of class CH', reply('8180', [], [soa('test', CH)])],

  // Owners, types and sections.
  ['records of another owner', reply('8180', [wantedOf('other.test')])],
  ['records of a wildcard', reply('8180', [wantedOf('*.test')])],
  ['records of another type', reply('8180', [otherType])],
  ['an RRSIG alone', reply('8180', [rrsig])],
  ['the queried records, in the authority section', reply('8180', [], [wanted])],
  ['the queried records, in the additional section', reply('8180', [], [], [wanted])],

  // SOAs that say nothing of the name.
  ['an SOA of an unrelated zone', reply('8180', [], [soa('invalid')])],
  ['an SOA of a zone below the name', reply('8580', [], [(q) => soa(`gslb.${q.name}`)])],
  ['an SOA whose name is an end of the name, but not of whole labels', reply('8180', [], [soa('mple.test')])],
  ['an SOA in the additional section', reply('8500', [], [], [PROOF])],
  ['an SOA of the zone above in the answer section', reply('8180', [PROOF])],

  // Names in messages: pointers lead back, and labels have at most 63 octets.
  [
    'an owner that points to itself',
    reply('8180', [], [(q) => rr(uint16(0xc00c + q.section.length), 6, SOA_RDATA)]),
  ],
  // It is undecidable whether such a record was queried.
  ['glue whose owner points into the header', reply('8180', [], [PROOF], [glue(hex`c004`)])],
];

/** Chains that prove nothing of what stands at their end; of the CNAMEs themselves they do. */
export const CHAINS_WITHOUT_PROOF: readonly (readonly [title: string, reply: Reply])[] = [
  ['a CNAME to itself, with an SOA', reply('8180', [(q) => cname(q.name, q.name)], [PROOF])],
  ['CNAMEs in a loop, with an SOA', reply('8180', [TO_B, (q) => cname('b.test', q.name)], [PROOF])],
  ['a CNAME without its end', reply('8180', [AWAY])],
  ['a CNAME that leaves the zone of the SOA', reply('8580', [AWAY], [PROOF])],
  ['two CNAMEs of one owner', reply('8180', [TO_B, TO_C], [PROOF])],
  ['a CNAME and records of its owner', reply('8180', [AWAY, wanted])],
  ['a CNAME of class CH', reply('8180', [rr(hex`c00c`, 5, name('b.test'), CH), wantedOf('b.test')], [PROOF])],
  ['a DNAME without its end', reply('8180', [dname('test', 'away.invalid')])],
  ['a DNAME and another CNAME', reply('8180', [dname('test', 'invalid'), TO_B], [PROOF])],
  ['a DNAME to below itself, which never ends', reply('8180', [dname('test', 'sub.test')], [PROOF])],
  ['a DNAME of the name itself', reply('8180', [(q) => dname(q.name, 'b.test'), wantedOf('b.test')])],
  [
    'a DNAME to a name of more than 255 octets',
    reply('8180', [dname('test', Array.from({ length: 4 }, () => 'x'.repeat(60)).join('.'))], [PROOF]),
  ],
];
