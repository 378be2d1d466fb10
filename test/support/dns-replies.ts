import fc, { type Arbitrary } from 'fast-check';
import type { Asked } from './dns-evidence.js';
import { nameOctets, uint16, uint32 } from './dns-octets.js';
import { hex, SOA_RDATA } from './dns-records.js';

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
  readonly owner: Buffer;
  readonly type: number;
  readonly class: number;
  readonly ttl: number;
  readonly rdata: Buffer;
  /** Added to the length of rdata that is written. */
  readonly lie: number;
}

type Sections = readonly [answer: Record[], authority: Record[], additional: Record[]];
interface Reply {
  readonly rcode: number;
  readonly sections: Sections;
}
type Change = (sections: Sections) => void;

const END = 'example.test';
const [QR, AA, TC, RD, RA] = [0x8000, 0x0400, 0x0200, 0x0100, 0x0080];

const record = (owner: string, type: number, rdata: Buffer): Record => ({
  ...{ owner: nameOctets(owner), type, class: 1, ttl: 300, rdata, lie: 0 },
});
const soa = (owner: string) => record(owner, 6, SOA_RDATA);

const RDATA: ReadonlyMap<number, readonly Buffer[]> = new Map([
  [1, [hex`c0000201`, hex`c0000202`]],
  [28, [hex`20010db8 00000000 00000000 00000001`]],
  [2, [nameOctets('ns1.example.test'), nameOctets('ns2.example.test')]],
  [6, [SOA_RDATA]],
  [15, [hex`000a ${nameOctets('mail.example.test')}`, hex`0014 ${nameOctets('mail2.example.test')}`]],
  [16, [hex`02 6869`, hex`03 6f6e65 03 74776f`]],
  [257, [hex`00 05 6973737565 63612e74657374`]],
]);

/** Those of the name itself, and those after them. */
const LINKS: ReadonlyMap<string, readonly [own: readonly Record[], others: readonly Record[]]> = new Map([
  [
    'www.example.test',
    [
      [record('www.example.test', 5, nameOctets('alias.other.test'))],
      [record('alias.other.test', 5, nameOctets(END))],
    ],
  ],
  [
    'example.old.test',
    [[record('old.test', 39, nameOctets('test')), record('example.old.test', 5, nameOctets(END))], []],
  ],
]);

function replyOf(rcode: number, answer: readonly Record[], authority: readonly Record[] = []): Reply {
  return { rcode, sections: [[...answer], [...authority], []] };
}

/** What the zone has: all links and records, or of type CNAME what the name itself has. */
function positive({ name, number }: Asked): Reply {
  const [own = [], others = []] = LINKS.get(name) ?? [];
  const records = (RDATA.get(number) ?? []).map((rdata) => record(END, number, rdata));
  const answer = number === 5 ? own : [...own, ...others, ...records];
  return replyOf(0, answer, answer.length === 0 ? [soa('test')] : []);
}

/** A reply with the links alone. */
const negative =
  (rcode: number, authority: readonly Record[] = []) =>
  ({ name, number }: Asked): Reply =>
    replyOf(rcode, number === 5 ? [] : (LINKS.get(name) ?? []).flat(), authority);

const bases = fc.constantFrom<(asked: Asked) => Reply>(
  ...[positive, positive, positive, positive],
  ...[negative(0, [soa('test')]), negative(3, [soa('test')]), negative(0, [soa(END)]), negative(0)],
  negative(0, [record('test', 2, nameOctets('ns.test'))]),
  ...[() => replyOf(0, []), () => replyOf(3, [])],
);

const owners = fc.constantFrom(
  ...[...NAMES, 'alias.other.test', 'other.test', 'old.test', 'test', '.', 'sub.example.test'],
  ...['EXAMPLE.Test', 'mple.test', 'www.old.test', 'example.invalid', '*.test', 'invalid'],
);
const names = owners.map(nameOctets);
const anyData = fc.constantFrom(
  ...[...RDATA].flatMap(([type, all]) => all.map((rdata) => ({ type, rdata }))),
);

/** Any record that a reply might have. */
const anyRecord: Arbitrary<Record> = fc.oneof(
  owners.map(soa),
  owners.map((owner) => record(owner, 2, nameOctets('ns1.example.test'))),
  fc.tuple(owners, fc.constantFrom(5, 39), names).map((parts) => record(...parts)),
  fc
    .tuple(owners, fc.constantFrom(1, 5, 39, 16))
    .map(([owner, type]) =>
      record(owner, 46, hex`${uint16(type)} 0d 02 0000003c 7fffffff 00000001 1234 00 00112233`),
    ),
  // OPT: the TTL begins with the upper bits of the RCODE.
  fc.constantFrom(0, 0, 0x8000, 0x1000000).map((ttl) => ({ ...record('.', 41, hex``), class: 1232, ttl })),
  fc.tuple(owners, anyData).map(([owner, { type, rdata }]) => record(owner, type, rdata)),
);

/** What one record becomes. */
const recordChange: Arbitrary<(one: Record) => Record> = fc
  .oneof(
    fc.record({ owner: names }),
    fc.record({ owner: names }),
    fc.record({ type: fc.constantFrom(1, 2, 5, 6, 15, 16, 28, 39, 41, 46, 47, 99, 255, 257) }),
    fc.record({ class: fc.constantFrom(0, 1, 3, 4, 254, 255) }),
    fc.record({ ttl: fc.constantFrom(0, 1, 0x7fffffff, 0xffffffff) }),
    fc.record({ lie: fc.constantFrom(-2, -1, 1, 2, 300) }),
    fc.record({
      rdata: fc.oneof(
        anyData.map(({ rdata }) => rdata),
        names,
      ),
    }),
    // To the question's name, into it, to its second label, into the header, and to where there is nothing yet.
    fc.record({ owner: fc.constantFrom(12, 12, 12, 13, 20, 4, 0x3fff, 60).map((at) => uint16(0xc000 | at)) }),
    fc.integer({ min: -9, max: 4 }).map((cut) => ({ cut })),
  )
  .map((change: Partial<Record> & { readonly cut?: number }) => ({ rdata, ...one }) => {
    const { cut = 0, ...others } = change;
    const resized = cut < 0 ? rdata.subarray(0, cut) : Buffer.concat([rdata, Buffer.alloc(cut)]);
    return { ...one, rdata: resized, ...others };
  });

/** A section, one that has records if there is one, and a place in it. */
const place = fc.tuple(fc.nat(2), fc.nat(99));
function sectionAt(sections: Sections, at: number): Record[] {
  const full = sections.filter((one) => one.length > 0);
  return full[at % full.length] ?? sections[0];
}

const addRecord = fc.tuple(place, anyRecord).map(
  ([[at, before], one]): Change =>
    (sections) => {
      sections[at]?.splice(before % 4, 0, one);
    },
);
const changeRecord = fc.tuple(place, recordChange).map(
  ([[at, index], change]): Change =>
    (sections) => {
      const section = sectionAt(sections, at);
      const first = index % Math.max(1, section.length);
      section.splice(first, 1, ...section.slice(first, first + 1).map(change));
    },
);
/** Takes one record out of a section, and puts it into others. */
const moveRecord = fc.tuple(place, fc.array(place, { maxLength: 2 })).map(
  ([[at, index], to]): Change =>
    (sections) => {
      const section = sectionAt(sections, at);
      const moved = section.splice(index % Math.max(1, section.length), 1);
      for (const [target, before] of to) sections[target]?.splice(before % 4, 0, ...moved);
    },
);
const reverse = fc.nat(2).map(
  (at): Change =>
    (sections) =>
      void sections[at]?.reverse(),
);
const empty = fc.nat(2).map(
  (at): Change =>
    (sections) =>
      void sections[at]?.splice(0),
);
const changes = fc.oneof(
  ...[addRecord, addRecord, addRecord, changeRecord, changeRecord, changeRecord, changeRecord, changeRecord],
  ...[moveRecord, moveRecord, moveRecord, reverse, empty],
);

const seldom = (...values: readonly number[]) => fc.constantFrom(...Array<number>(40).fill(0), ...values);

/** Replies without their id that may be anything, and often are nearly right. */
export const replies: Arbitrary<(asked: Asked) => Buffer> = fc
  .tuple(
    bases,
    fc.array(changes, { maxLength: 3 }),
    seldom(AA, AA, RA, RA, RA, TC, RD, 0x40, 0x20, 0x10),
    seldom(1, 2, 3, 3, 3, 4, 5, 6, 8, 9, 15),
    // What is added to a count, and which one.
    seldom(-1, 1, 2, 60_000),
    fc.nat(2),
    // Octets behind it; a negative number: so many are cut off.
    seldom(1, 2, 11, 40, -1, -2, -5, -12),
  )
  .map(([base, all, bit, rcodeBits, lie, lieAt, tail]) => (asked) => {
    const { rcode, sections } = base(asked);
    for (const change of all) change(sections);
    const counts = sections.map(({ length }, at) => (length + (at === lieAt ? lie : 0)) & 0xffff);
    const message = encode((rcode ^ rcodeBits) | ((RD | RA) ^ bit), counts, sections, asked);
    if (tail >= 0) return Buffer.concat([message, Buffer.alloc(tail)]);
    return message.subarray(0, Math.max(10, message.length + tail));
  });

function encode(flags: number, counts: readonly number[], sections: Sections, { section }: Asked): Buffer {
  const records = sections.flat().map(({ owner, type, class: dnsClass, ttl, rdata, lie }) => {
    const length = Math.max(0, rdata.length + lie);
    return hex`${owner} ${uint16(type, dnsClass)} ${uint32(ttl)} ${uint16(length)} ${rdata}`;
  });
  return Buffer.concat([uint16(QR | flags, 1, ...counts), section, ...records]);
}

/** What a server that is well says to a question. */
export function goodReply(asked: Asked): Buffer {
  const { rcode, sections } = positive(asked);
  const counts = sections.map(({ length }) => length);
  return encode(rcode | RD | RA, counts, sections, asked);
}
