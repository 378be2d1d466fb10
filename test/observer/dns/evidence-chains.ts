import {
  address,
  asked,
  cname,
  dname,
  hex,
  name,
  ns,
  reply,
  type Shapes,
  sized,
  soa,
} from './evidence-octets.js';

/** The SOA of the zone above, which proves what it comes with to be absent. */
const PROOF = soa('test');

/** Chains that prove nothing of what stands at their end; of the CNAMEs themselves they do. */
export const CHAINS_WITHOUT_PROOF: Shapes = [
  ['a CNAME to itself', reply(hex`8180 0001 0001 0000 0000`, (q) => cname(q.name, q.name))],
  [
    'a CNAME to itself, with an SOA',
    reply(hex`8180 0001 0001 0001 0000`, (q) => cname(q.name, q.name), PROOF),
  ],
  [
    'CNAMEs in a loop',
    reply(
      hex`8180 0001 0002 0000 0000`,
      (q) => cname(q.name, 'b.test'),
      (q) => cname('B.test', q.name),
    ),
  ],
  [
    'CNAMEs in a loop, with an SOA',
    reply(
      hex`8180 0001 0002 0001 0000`,
      (q) => cname(q.name, 'b.test'),
      (q) => cname('b.test', q.name),
      PROOF,
    ),
  ],
  ['a CNAME without its end', reply(hex`8180 0001 0001 0000 0000`, (q) => cname(q.name, 'away.invalid'))],
  [
    'a CNAME without its end, from a server of the zone',
    reply(hex`8500 0001 0001 0000 0000`, (q) => cname(q.name, 'away.invalid')),
  ],
  [
    'a CNAME without its end, NXDOMAIN',
    reply(hex`8583 0001 0001 0000 0000`, (q) => cname(q.name, 'away.invalid')),
  ],
  [
    'a CNAME that leaves the zone, with the SOA of the zone that it leaves',
    reply(hex`8580 0001 0001 0001 0000`, (q) => cname(q.name, 'away.invalid'), PROOF),
  ],
  [
    'NXDOMAIN of a CNAME that leaves the zone, with the SOA of the zone that it leaves',
    reply(hex`8583 0001 0001 0001 0000`, (q) => cname(q.name, 'away.invalid'), PROOF),
  ],
  [
    'a CNAME without its end, with a referral',
    reply(hex`8500 0001 0001 0001 0000`, (q) => cname(q.name, 'away.invalid'), ns('invalid')),
  ],
  [
    'CNAMEs in reverse order without their end',
    reply(hex`8180 0001 0002 0000 0000`, cname('b.test', 'away.invalid'), (q) => cname(q.name, 'b.test')),
  ],
  [
    'two CNAMEs of one owner',
    reply(
      hex`8180 0001 0002 0001 0000`,
      (q) => cname(q.name, 'b.test'),
      (q) => cname(q.name, 'c.test'),
      PROOF,
    ),
  ],
  [
    'two CNAMEs of one owner, with addresses',
    reply(
      hex`8180 0001 0004 0000 0000`,
      (q) => cname(q.name, 'b.test'),
      (q) => cname(q.name, 'c.test'),
      address('b.test'),
      address('c.test'),
    ),
  ],
  [
    'a CNAME and records of the name that has it',
    reply(hex`8180 0001 0002 0000 0000`, (q) => cname(q.name, 'away.invalid'), asked),
  ],
  [
    'a CNAME and records of the name that has it, with an SOA',
    reply(hex`8180 0001 0002 0001 0000`, (q) => cname(q.name, 'b.test'), asked, PROOF),
  ],
  [
    'a CNAME whose end has its records in the additional section',
    reply(
      hex`8180 0001 0001 0001 0001`,
      (q) => cname(q.name, 'b.test'),
      PROOF,
      (q) => asked(q, name('b.test')),
    ),
  ],
  [
    'a CNAME of class CH',
    reply(
      hex`8180 0001 0001 0001 0000`,
      (q) => hex`c00c 0005 0003 0000003c ${sized(name('b.test'))} ${asked(q, name('b.test'))}`,
      PROOF,
    ),
  ],
  ['a CNAME of another owner', reply(hex`8180 0001 0001 0001 0000`, cname('other.test', 'b.test'), PROOF)],
  [
    'a CNAME with an octet behind its target',
    reply(
      hex`8180 0001 0001 0001 0000`,
      hex`c00c 0005 0001 0000003c ${sized(hex`${name('b.test')} 00`)}`,
      PROOF,
    ),
  ],
  ['a DNAME without its end', reply(hex`8180 0001 0001 0000 0000`, dname('test', 'away.invalid'))],
  [
    'a DNAME and the CNAME that follows from it, without their end',
    reply(hex`8180 0001 0002 0000 0000`, dname('test', 'invalid'), (q) =>
      cname(q.name, q.name.replace(/test$/, 'invalid')),
    ),
  ],
  [
    'a DNAME and a CNAME that does not follow from it',
    reply(hex`8180 0001 0002 0001 0000`, dname('test', 'invalid'), (q) => cname(q.name, 'b.test'), PROOF),
  ],
  [
    'a DNAME to below itself, which never ends',
    reply(hex`8180 0001 0001 0001 0000`, dname('test', 'sub.test'), PROOF),
  ],
  [
    'a DNAME of the name itself, which is about the names below it',
    reply(
      hex`8180 0001 0002 0000 0000`,
      (q) => dname(q.name, 'b.test'),
      (q) => asked(q, name('b.test')),
    ),
  ],
  [
    'a DNAME to a name of more than 255 octets',
    reply(
      hex`8180 0001 0001 0001 0000`,
      dname('test', Array.from({ length: 4 }, () => 'x'.repeat(60)).join('.')),
      PROOF,
    ),
  ],
  [
    'a DNAME and a CNAME that does not follow from it, with records at the end of the CNAME',
    reply(
      hex`8180 0001 0003 0000 0000`,
      dname('test', 'invalid'),
      (q) => cname(q.name, 'b.other'),
      (q) => asked(q, name('b.other')),
    ),
  ],
];
