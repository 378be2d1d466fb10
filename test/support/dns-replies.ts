import fc, { type Arbitrary } from 'fast-check';
import type { Asked } from './dns-evidence.js';
import { FLAGS } from './dns-message.js';
import { nameOctets, uint16, uint32 } from './dns-octets.js';
import { hex, SOA_RDATA } from './dns-records.js';

export const TYPE_NUMBERS: ReadonlyMap<string, number> = new Map(
  Object.entries({ A: 1, NS: 2, CNAME: 5, SOA: 6, MX: 15, TXT: 16, AAAA: 28, CAA: 257 }),
);

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

const END = 'example.test';
const { QR, AA, TC, RD, RA } = FLAGS;

function record(name: string, type: number, rdata: Buffer): Record {
  return { owner: nameOctets(name), type, class: 1, ttl: 300, rdata, lie: 0 };
}
const soa = (owner: string) => record(owner, 6, SOA_RDATA);
const cname = (owner: string, target: string) => record(owner, 5, nameOctets(target));

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
  ['www.example.test', [[cname('www.example.test', 'alias.other.test')], [cname('alias.other.test', END)]]],
  ['example.old.test', [[record('old.test', 39, nameOctets('test')), cname('example.old.test', END)], []]],
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

const recordChange: Arbitrary<(one: Record) => Record> = fc
  .oneof(
    fc.record({ owner: names }),
    fc.record({ owner: names }),
    fc.record({ type: fc.constantFrom(1, 2, 5, 6, 15, 16, 28, 39, 41, 46, 47, 99, 255, 257) }),
    fc.record({ class: fc.constantFrom(0, 1, 3, 4, 254, 255) }),
    fc.record({ ttl: fc.constantFrom(0, 1, 0x7fffffff, 0xffffffff) }),
    fc.record({ lie: fc.constantFrom(-2, -1, 1, 2, 300) }),
    anyData.map(({ rdata }) => ({ rdata })),
    fc.record({ rdata: names }),
    // To the question's name, into it, to its second label, into the header, and to where there is nothing yet.
    fc.record({ owner: fc.constantFrom(12, 12, 12, 13, 20, 4, 0x3fff, 60).map((at) => uint16(0xc000 | at)) }),
    fc.integer({ min: -9, max: 4 }).map((cut) => ({ cut })),
  )
  .map((change: Partial<Record> & { readonly cut?: number }) => ({ rdata, ...one }) => {
    const { cut = 0, ...others } = change;
    const resized = cut < 0 ? rdata.subarray(0, cut) : Buffer.concat([rdata, Buffer.alloc(cut)]);
    return { ...one, rdata: resized, ...others };
  });

const WHAT = 'add add add change change change change change move move move reverse empty'.split(' ');

/** What becomes of a section, or of a place in one that has records if there is one. */
const changes = fc.record({
  what: fc.constantFrom(...WHAT),
  at: fc.nat(2),
  index: fc.nat(99),
  added: anyRecord,
  change: recordChange,
  to: fc.array(fc.tuple(fc.nat(2), fc.nat(3)), { maxLength: 2 }),
});
type Change = typeof changes extends Arbitrary<infer Drawn> ? Drawn : never;

function applyChange(sections: Sections, { what, at, index, added, change, to }: Change): void {
  const full = sections.filter(({ length }) => length > 0);
  const section = full[at % full.length] ?? sections[0];
  const place = index % Math.max(1, section.length);
  if (what === 'add') sections[at]?.splice(index % 4, 0, added);
  else if (what === 'change') section.splice(place, 1, ...section.slice(place, place + 1).map(change));
  else if (what === 'move') {
    const moved = section.splice(place, 1);
    for (const [target, before] of to) sections[target]?.splice(before, 0, ...moved);
  } else if (what === 'reverse') sections[at]?.reverse();
  else sections[at]?.splice(0);
}

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
    for (const change of all) applyChange(sections, change);
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
