import { nameOctets, uint16, uint32 } from '../../support/dns-octets.js';
import { type Asked, hex, SOA_RDATA } from './evidence.js';

export const TYPE_NUMBERS: ReadonlyMap<string, number> = new Map([
  ['A', 1],
  ['NS', 2],
  ['CNAME', 5],
  ['SOA', 6],
  ['MX', 15],
  ['TXT', 16],
  ['AAAA', 28],
  ['CAA', 257],
]);

/** A name to check: itself the owner of eleven records, or led there by CNAMEs or a DNAME. */
export const NAMES = ['example.test', 'www.example.test', 'example.old.test'] as const;

interface Record {
  readonly owner: string;
  readonly type: number;
  readonly class: number;
  readonly ttl: number;
  readonly rdata: Buffer;
  /** Added to the length of rdata that is written. */
  readonly lie: number;
  /** Where the owner points to; undefined: it is written in full. */
  readonly pointer?: number;
}

/** A message before it is written. */
interface Reply {
  flags: number;
  question: Buffer;
  sections: [Record[], Record[], Record[]];
  /** Added to the counts. */
  lies: [number, number, number, number];
  /** Octets behind it; a negative number: so many are cut off. */
  tail: number;
  flips: number;
}

/** A number from 0 up to, but without, the limit. */
type Random = (limit: number) => number;

/** The same numbers for the same seed (mulberry32). */
function seeded(seed: number): Random {
  let state = seed | 0;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
}

const END = 'example.test';
const [QR, AA, TC, RD, RA] = [0x8000, 0x0400, 0x0200, 0x0100, 0x0080];

const record = (owner: string, type: number, rdata: Buffer): Record => ({
  ...{ owner, type, class: 1, ttl: 300, rdata, lie: 0 },
});

const RDATA: ReadonlyMap<number, readonly Buffer[]> = new Map([
  [1, [hex`c0000201`, hex`c0000202`]],
  [28, [hex`20010db8 00000000 00000000 00000001`]],
  [2, [nameOctets('ns1.example.test'), nameOctets('ns2.example.test')]],
  [6, [SOA_RDATA]],
  [15, [hex`000a ${nameOctets('mail.example.test')}`, hex`0014 ${nameOctets('mail2.example.test')}`]],
  [16, [hex`02 6869`, hex`03 6f6e65 03 74776f`]],
  [257, [hex`00 05 6973737565 63612e74657374`]],
]);

const LINKS: ReadonlyMap<string, readonly Record[]> = new Map([
  ['example.test', []],
  [
    'www.example.test',
    [
      record('www.example.test', 5, nameOctets('alias.other.test')),
      record('alias.other.test', 5, nameOctets(END)),
    ],
  ],
  [
    'example.old.test',
    [record('old.test', 39, nameOctets('test')), record('example.old.test', 5, nameOctets(END))],
  ],
]);

const soa = (owner: string) => record(owner, 6, SOA_RDATA);

/** What the zone has: all links and records, or of type CNAME what the name itself has. */
function positive(name: string, type: number): Reply {
  const links = LINKS.get(name) ?? [];
  const records = (RDATA.get(type) ?? []).map((rdata) => record(END, type, rdata));
  const own = links.filter((link) => link.owner === name || link.type === 39);
  const answer = type === 5 ? own : [...links, ...records];
  return replyOf(0, answer, answer.length === 0 ? [soa('test')] : []);
}

function replyOf(rcode: number, answer: readonly Record[], authority: readonly Record[]): Reply {
  return {
    flags: QR | RD | RA | rcode,
    question: Buffer.of(),
    sections: [[...answer], [...authority], []],
    lies: [0, 0, 0, 0],
    tail: 0,
    flips: 0,
  };
}

type Base = (name: string, type: number) => Reply;

const linksOf = (name: string, type: number) => (type === 5 ? [] : (LINKS.get(name) ?? []));

/** What replies are made from. */
const BASES: readonly Base[] = [
  ...[positive, positive, positive, positive],
  (name, type) => replyOf(0, linksOf(name, type), [soa('test')]),
  (name, type) => replyOf(3, linksOf(name, type), [soa('test')]),
  (name, type) => replyOf(0, linksOf(name, type), [soa(END)]),
  () => replyOf(0, [], []),
  () => replyOf(3, [], []),
  (name, type) => replyOf(0, linksOf(name, type), []),
  (name, type) => replyOf(0, linksOf(name, type), [record('test', 2, nameOctets('ns.test'))]),
];

const OWNERS = [
  ...[...NAMES, 'alias.other.test', 'other.test', 'old.test', 'test', '.', 'sub.example.test'],
  ...['EXAMPLE.Test', 'mple.test', 'www.old.test', 'example.invalid', '*.test', 'invalid'],
];
const ANY_TYPE = [1, 2, 5, 6, 15, 16, 28, 39, 41, 46, 47, 99, 255, 257];
const CLASSES = [0, 1, 3, 4, 254, 255];
const FLAGS = [AA, AA, RA, RA, RA, TC, RD, 0x0040, 0x0020, 0x0010];
const RCODES = [0, 0, 3, 3, 3, 1, 2, 4, 5, 6, 8, 9, 15];

function pick<Item>(random: Random, items: readonly Item[]): Item {
  const item = items[random(items.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
}

/** Any record that a reply might have. */
function anyRecord(random: Random): Record {
  const owner = pick(random, OWNERS);
  const made = [
    () => soa(owner),
    () => record(owner, 2, nameOctets('ns1.example.test')),
    () => record(owner, pick(random, [5, 39]), nameOctets(pick(random, OWNERS))),
    () =>
      record(
        owner,
        46,
        hex`${uint16(pick(random, [1, 5, 39, 16]))} 0d 02 0000003c 7fffffff 00000001 1234 00 00112233`,
      ),
    // OPT: the TTL begins with the upper bits of the RCODE.
    () => ({ ...record('.', 41, hex``), class: 1232, ttl: pick(random, [0, 0, 0x8000, 0x1000000]) }),
    () => {
      const [type, rdata] = pick(random, [...RDATA]);
      return record(owner, type, pick(random, rdata));
    },
  ];
  return pick(random, made)();
}

type RecordChange = (one: Record, random: Random) => Record;

const RECORD_CHANGES: readonly RecordChange[] = [
  (one, random) => ({ ...one, owner: pick(random, OWNERS) }),
  (one, random) => ({ ...one, owner: pick(random, OWNERS) }),
  (one, random) => ({ ...one, type: pick(random, ANY_TYPE) }),
  (one, random) => ({ ...one, class: pick(random, CLASSES) }),
  (one, random) => ({ ...one, ttl: pick(random, [0, 1, 0x7fffffff, 0xffffffff]) }),
  (one, random) => ({ ...one, lie: pick(random, [-2, -1, 1, 2, 300]) }),
  (one, random) => ({ ...one, rdata: one.rdata.subarray(0, random(one.rdata.length + 1)) }),
  (one, random) => ({ ...one, rdata: Buffer.concat([one.rdata, Buffer.alloc(1 + random(4))]) }),
  (one, random) => ({ ...one, rdata: anyRecord(random).rdata }),
  (one, random) => ({ ...one, rdata: nameOctets(pick(random, OWNERS)) }),
  // To the question's name, into it, to its second label, into the header, and to where there is nothing yet.
  (one, random) => ({ ...one, pointer: pick(random, [12, 12, 12, 13, 20, 4, 0x3fff, 60]) }),
];

/** A section that has records, if one has. */
function anySection(reply: Reply, random: Random): Record[] {
  const full = reply.sections.filter((one) => one.length > 0);
  return pick(random, full.length > 0 ? full : reply.sections);
}

/** Changes one record of a reply. */
function changeRecord(reply: Reply, random: Random): void {
  const section = anySection(reply, random);
  const at = random(Math.max(1, section.length));
  section.splice(at, 1, ...section.slice(at, at + 1).map((one) => pick(random, RECORD_CHANGES)(one, random)));
}

/** Takes one record out of a section, and puts it into others. */
function moveRecord(reply: Reply, random: Random, copies: number): void {
  const section = anySection(reply, random);
  const [one] = section.splice(random(Math.max(1, section.length)), 1);
  for (let copy = 0; copy < copies && one !== undefined; copy += 1) {
    const target = pick(random, reply.sections);
    target.splice(random(target.length + 1), 0, one);
  }
}

type Change = (reply: Reply, random: Random) => void;

const ofHeader: Change = (reply, random) => {
  reply.flags ^= pick(random, FLAGS);
};
const ofRcode: Change = (reply, random) => {
  reply.flags = (reply.flags & ~15) | pick(random, RCODES);
};
const addition: Change = (reply, random) => {
  const target = pick(random, reply.sections);
  target.splice(random(target.length + 1), 0, anyRecord(random));
};

/** Changes of replies; the common ones stand several times. */
const CHANGES: readonly Change[] = [
  ...[ofHeader, ofHeader, ofHeader, ofRcode, ofRcode, addition, addition, addition],
  ...[changeRecord, changeRecord, changeRecord, changeRecord, changeRecord],
  (reply, random) => moveRecord(reply, random, 0),
  (reply, random) => moveRecord(reply, random, 1),
  (reply, random) => moveRecord(reply, random, 1),
  (reply, random) => moveRecord(reply, random, 2),
  (reply, random) => reply.sections[random(3)]?.reverse(),
  (reply, random) => reply.sections[random(3)]?.splice(0),
  (reply, random) => {
    reply.lies[1 + random(3)] = pick(random, [-1, 1, 1, 2, 60_000]);
  },
  (reply, random) => {
    // Then it mostly is no reply to the question any more.
    if (random(10) === 0) reply.flips = 1 + random(3);
    reply.tail = pick(random, [1, 2, 11, 40, -1, -2, -5, -12]);
  },
];

/** A reply without its id that may be anything, and often is nearly right; the same seed gives the same. */
export function makeReply({ name, number, section }: Asked, seed: number): Buffer {
  const random = seeded(seed);
  const reply = { ...pick(random, BASES)(name, number), question: section };
  for (let left = random(5); left > 0; left -= 1) {
    pick(random, CHANGES)(reply, random);
  }
  return encode(reply, random);
}

function encode(reply: Reply, random: Random): Buffer {
  const counts = [1, ...reply.sections.map(({ length }) => length)];
  const lied = counts.map((count, at) => (count + (reply.lies[at] ?? 0)) & 0xffff);
  const records = reply.sections.flat().map((one) => {
    const owner = one.pointer === undefined ? nameOctets(one.owner) : uint16(0xc000 | one.pointer);
    const length = Math.max(0, one.rdata.length + one.lie);
    return hex`${owner} ${uint16(one.type, one.class)} ${uint32(one.ttl)} ${uint16(length)} ${one.rdata}`;
  });
  const message = Buffer.concat([uint16(reply.flags, ...lied), reply.question, ...records]);
  for (let left = reply.flips; left > 0; left -= 1) {
    const at = random(message.length);
    message.writeUInt8(message.readUInt8(at) ^ (1 << random(8)), at);
  }
  if (reply.tail >= 0) return Buffer.concat([message, Buffer.alloc(reply.tail)]);
  return message.subarray(0, Math.max(10, message.length + reply.tail));
}

/** What a server that is well says to a question. */
export function goodReply({ name, number, section }: Asked): Buffer {
  return encode({ ...positive(name, number), question: section }, seeded(0));
}
