import { uint16 } from '../../support/dns-octets.js';
import {
  address,
  asked,
  hex,
  name,
  ns,
  otherType,
  reply,
  rrsig,
  type Shapes,
  SOA_RDATA,
  sized,
  soa,
} from './evidence-octets.js';

/** The SOA of the zone above, which proves what it comes with to be absent. */
const PROOF = soa('test');

/** Replies that prove nothing, whatever the query. */
export const PROVES_NOTHING: Shapes = [
  // A server that neither has the zone (AA) nor queries others (RA) does not know.
  ['NOERROR, empty, with neither AA nor RA', reply(hex`8100 0001 0000 0000 0000`)],
  ['NXDOMAIN, empty, with neither AA nor RA', reply(hex`8103 0001 0000 0000 0000`)],
  ['NOERROR with an SOA, but with neither AA nor RA', reply(hex`8100 0001 0000 0001 0000`, PROOF)],
  ['NXDOMAIN with an SOA, but with neither AA nor RA', reply(hex`8103 0001 0000 0001 0000`, PROOF)],
  ['other records of the type, with neither AA nor RA', reply(hex`8100 0001 0001 0000 0000`, asked)],
  ['NOERROR, empty, from a server of the zone', reply(hex`8500 0001 0000 0000 0000`)],
  [
    'NXDOMAIN, empty, from a server of the zone (load balancers, for AAAA)',
    reply(hex`8503 0001 0000 0000 0000`),
  ],

  // RCODEs.
  ['NXDOMAIN with the very records', reply(hex`8183 0001 0001 0000 0000`, asked)],
  ['NXDOMAIN with the very records and an SOA', reply(hex`8183 0001 0001 0001 0000`, asked, PROOF)],
  ['NXDOMAIN with a record of another type', reply(hex`8183 0001 0001 0001 0000`, otherType, PROOF)],
  ['SERVFAIL with an SOA', reply(hex`8182 0001 0000 0001 0000`, PROOF)],
  ['REFUSED with other records of the type', reply(hex`8185 0001 0001 0000 0000`, asked)],
  ['NOTAUTH with an SOA', reply(hex`8589 0001 0000 0001 0000`, PROOF)],
  // OPT: root, type 41, payload size, upper bits of the RCODE, version, flags, length. 01 with 0 is BADVERS.
  ['BADVERS with an SOA', reply(hex`8180 0001 0000 0001 0001`, PROOF, hex`00 0029 04d0 01 00 0000 0000`)],
  // 01 with 3 is BADALG (19), not NXDOMAIN.
  ['RCODE 19 with an SOA', reply(hex`8183 0001 0000 0001 0001`, PROOF, hex`00 0029 04d0 01 00 0000 0000`)],
  ['truncation over UDP and over TCP, with an SOA', reply(hex`8380 0001 0000 0001 0000`, PROOF)],
  ['truncation over UDP and over TCP, empty', reply(hex`8380 0001 0000 0000 0000`)],

  // What is no reply to the question.
  ['a reply to NOTIFY with an SOA', reply(hex`a580 0001 0000 0001 0000`, PROOF)],
  ['a reply to UPDATE with an SOA', reply(hex`a980 0001 0000 0001 0000`, PROOF)],
  ['a query with an SOA', reply(hex`0180 0001 0000 0001 0000`, PROOF)],
  ['a reply without a question', () => hex`8180 0000 0000 0001 0000 ${PROOF}`],
  ['a reply whose question is not counted', reply(hex`8180 0000 0000 0001 0000`, PROOF)],
  [
    'a reply with the question twice',
    ({ query: { question } }) => hex`8180 0002 0000 0001 0000 ${question} ${question} ${PROOF}`,
  ],
  [
    'a reply about another name',
    ({ query }) => hex`8180 0001 0000 0001 0000 ${name('www.test')} ${uint16(query.type)} 0001 ${PROOF}`,
  ],
  [
    'a reply about another type',
    ({ query }) => hex`8180 0001 0000 0001 0000 ${query.name} 0063 0001 ${PROOF}`,
  ],
  [
    'a reply about class CH',
    ({ query }) => hex`8180 0001 0000 0001 0000 ${query.name} ${uint16(query.type)} 0003 ${PROOF}`,
  ],

  // Counts and lengths.
  ['records that are not counted', reply(hex`8180 0001 0000 0000 0000`, asked)],
  ['records that are not counted behind an SOA', reply(hex`8180 0001 0000 0001 0000`, PROOF, asked)],
  ['an octet behind the SOA', reply(hex`8180 0001 0000 0001 0000`, PROOF, hex`00`)],
  ['an octet behind an empty NOERROR', reply(hex`8180 0001 0000 0000 0000`, hex`00`)],
  ['a count of one more record than there is', reply(hex`8180 0001 0000 0001 0001`, PROOF)],
  [
    'a count of an answer that is not there, so that the SOA is in its place',
    reply(hex`8180 0001 0001 0000 0000`, PROOF),
  ],
  ['an SOA that is cut short', reply(hex`8180 0001 0000 0001 0000`, PROOF.subarray(0, -1))],
  [
    'an SOA without rdata',
    reply(hex`8180 0001 0000 0001 0000`, hex`${name('test')} 0006 0001 0000012c 0000`),
  ],
  [
    'an SOA with rdata of an octet more',
    reply(
      hex`8180 0001 0000 0001 0000`,
      hex`${name('test')} 0006 0001 0000012c ${sized(hex`${SOA_RDATA} 00`)}`,
    ),
  ],
  [
    'other records of the type with rdata that is none',
    (question) =>
      hex`8180 0001 0001 0000 0000 ${question.query.question} c00c ${uint16(question.query.type)} 0001 0000003c 0001 ff`,
  ],

  // Referrals (RFC 2308, section 2.2): NS and no SOA.
  ...['8100', '8180', '8500', '8580'].flatMap((flags): Shapes => {
    const header = hex`${Buffer.from(flags, 'hex')} 0001 0000 0001 0000`;
    const bits = `flags ${flags}`;
    return [
      [`a referral to the root (${bits})`, reply(header, ns('.'))],
      [`a referral to the zone above (${bits})`, reply(header, ns('test'))],
    ];
  }),
  [
    'a referral to the name’s own servers',
    reply(hex`8100 0001 0000 0001 0000`, (question) => ns(question.name)),
  ],
  [
    'a referral to the name’s own servers, with RA',
    reply(hex`8180 0001 0000 0001 0000`, (question) => ns(question.name)),
  ],
  ['a referral with glue', reply(hex`8180 0001 0000 0001 0001`, ns('test'), address('ns.elsewhere.test'))],
  ['NXDOMAIN with NS records and no SOA', reply(hex`8183 0001 0000 0001 0000`, ns('test'))],

  // Classes: 0003 CH, 00fe NONE, 00ff ANY.
  [
    'records of class CH',
    reply(hex`8180 0001 0001 0000 0000`, (question) => asked(question, hex`c00c`, hex`0003`)),
  ],
  [
    'records of class ANY',
    reply(hex`8180 0001 0001 0000 0000`, (question) => asked(question, hex`c00c`, hex`00ff`)),
  ],
  [
    'records of class CH, and an SOA',
    reply(hex`8180 0001 0001 0001 0000`, (question) => asked(question, hex`c00c`, hex`0003`), PROOF),
  ],
  [
    'an SOA of class CH',
    reply(hex`8180 0001 0000 0001 0000`, hex`${name('test')} 0006 0003 0000012c ${sized(SOA_RDATA)}`),
  ],
  [
    'an SOA of class NONE',
    reply(hex`8183 0001 0000 0001 0000`, hex`${name('test')} 0006 00fe 0000012c ${sized(SOA_RDATA)}`),
  ],

  // Owners, types and sections.
  [
    'records of another owner',
    reply(hex`8180 0001 0001 0000 0000`, (question) => asked(question, name('other.test'))),
  ],
  [
    'records of another owner, and an SOA',
    reply(hex`8180 0001 0001 0001 0000`, (question) => asked(question, name('other.test')), PROOF),
  ],
  [
    'records of the zone above',
    reply(hex`8180 0001 0001 0000 0000`, (question) => asked(question, name('test'))),
  ],
  [
    'records of a wildcard',
    reply(hex`8180 0001 0001 0000 0000`, (question) => asked(question, name('*.test'))),
  ],
  ['records of another type', reply(hex`8180 0001 0001 0000 0000`, otherType)],
  ['records of another type, and an SOA', reply(hex`8180 0001 0001 0001 0000`, otherType, PROOF)],
  ['an RRSIG alone', reply(hex`8180 0001 0001 0000 0000`, rrsig)],
  ['the queried records, in the authority section', reply(hex`8180 0001 0000 0001 0000`, asked)],
  ['the queried records, in the additional section', reply(hex`8180 0001 0000 0000 0001`, asked)],
  [
    'the queried records, in the authority section beside an SOA',
    reply(hex`8180 0001 0000 0002 0000`, asked, PROOF),
  ],
  [
    'the queried records, in the additional section beside an SOA',
    reply(hex`8180 0001 0000 0001 0001`, PROOF, asked),
  ],
  // NSEC (type 47): the next name, and a window that says A and nothing else.
  [
    'an NSEC without an SOA',
    reply(
      hex`8180 0001 0000 0001 0000`,
      hex`c00c 002f 0001 0000012c ${sized(hex`${name('z.test')} 00 01 40`)}`,
    ),
  ],

  // SOAs that say nothing of the name.
  ['an SOA of an unrelated zone', reply(hex`8180 0001 0000 0001 0000`, soa('invalid'))],
  ['NXDOMAIN with an SOA of an unrelated zone', reply(hex`8183 0001 0000 0001 0000`, soa('invalid'))],
  [
    'an SOA of a zone below the name',
    reply(hex`8580 0001 0000 0001 0000`, (question) => soa(`gslb.${question.name}`)),
  ],
  ['an SOA of a zone beside the name', reply(hex`8180 0001 0000 0001 0000`, soa('other.test'))],
  [
    'an SOA whose name is an end of the name, but not of whole labels',
    reply(hex`8180 0001 0000 0001 0000`, soa('mple.test')),
  ],
  ['an SOA in the additional section', reply(hex`8500 0001 0000 0000 0001`, PROOF)],
  ['an SOA of the zone above in the answer section', reply(hex`8180 0001 0001 0000 0000`, PROOF)],

  // Names in messages: pointers lead back, and labels have at most 63 octets.
  [
    'an owner that points to itself',
    ({ query }) =>
      hex`8180 0001 0000 0001 0000 ${query.question} ${uint16(0xc000 | (12 + query.question.length))} 0006 0001 0000012c ${sized(SOA_RDATA)}`,
  ],
  [
    'an owner that points behind the message',
    ({ query: { question } }) =>
      hex`8180 0001 0000 0001 0000 ${question} ffff 0006 0001 0000012c ${sized(SOA_RDATA)}`,
  ],
  [
    'an owner of a label of another kind',
    ({ query: { question } }) =>
      hex`8180 0001 0000 0001 0000 ${question} 41 78 00 0006 0001 0000012c ${sized(SOA_RDATA)}`,
  ],
  // It is undecidable whether such a record was queried.
  [
    'an additional record whose owner points into the header',
    reply(hex`8180 0001 0000 0001 0001`, PROOF, hex`c004 0001 0001 0000003c 0004 cb007107`),
  ],
  [
    'an additional record whose owner points behind the message',
    reply(hex`8180 0001 0000 0001 0001`, PROOF, hex`ffff 0001 0001 0000003c 0004 cb007107`),
  ],
];
