import { type RecordedObservations, recordObservations } from '../../src/history/record-observations.js';
import { type Holdings, holdNothing } from '../../src/history/state.js';
import type { DnsRecord } from '../../src/model/dns-record.js';
import type { Observation } from '../../src/model/observation.js';
import { readAnswer } from '../../src/observer/dns/evidence.js';
import { createQuestion, responseTo } from '../../src/observer/dns/message.js';
import { createDomainObserver } from '../../src/observer/observe-domain.js';
import { type DnsAnswer, failed } from '../../src/observer/verdict.js';
import { nameOctets, uint16 } from './dns-octets.js';
import { hex, rr, SOA_RDATA } from './dns-records.js';

/*
 * What an observation makes of replies that are written by hand, without a network. The fields of a message
 * (RFC 1035, section 4.1):
 *
 *   header    id | flags | QDCOUNT | ANCOUNT | NSCOUNT | ARCOUNT, two octets each
 *   question  name | type | class
 *   record    owner name | type | class | TTL (four octets) | length of rdata | rdata
 *
 * Flags: 8000 QR, 7800 opcode, 0400 AA, 0200 TC, 0100 RD, 0080 RA, 000f RCODE. The name c00c is a pointer to
 * the twelfth octet, where the name of the question is.
 */

/** What a server is asked, in class IN. */
export interface Asked {
  readonly name: string;
  readonly type: string;
  readonly number: number;
  /** The name in octets, and the question section. */
  readonly owner: Buffer;
  readonly section: Buffer;
}

/** The octets of a reply after its id. */
export type Reply = (asked: Asked) => Buffer;

export const TYPES = ['A', 'AAAA', 'NS', 'SOA', 'TXT', 'CNAME', 'MX', 'CAA'];
const ID = uint16(0x1234);
const LIMITS = { recordsPerType: 4000, records: 10_000, headers: 4000, headerValue: 65_536 };

export function answerTo(name: string, type: string, reply: Reply): DnsAnswer {
  const question = createQuestion(name, type);
  const { qtype: number, section } = question;
  const asked = { name, type, number, owner: nameOctets(name), section };
  const response = responseTo(question, 0x1234, Buffer.concat([ID, reply(asked)]));
  if (response === undefined) return failed('mismatched', 'no reply to the question');
  return readAnswer('the server', question, response);
}

let time = 1_700_000_000_000_000n;

/** What is observed of a name with these answers, whose site is not. */
export async function observe(domain: string, answers: ReadonlyMap<string, DnsAnswer>) {
  const observer = createDomainObserver({
    dns: { query: async () => answers },
    http: { observe: async () => failed('unreachable', 'no site') },
    types: TYPES,
    ignoredHeaders: new Set(),
    limits: LIMITS,
    source: 'test',
  });
  time += 1_000_000n;
  return (await observer.check(domain, time, new AbortController().signal)).observation;
}

interface Recorded extends RecordedObservations {
  readonly holdings: Holdings;
}

/** The history after an observation; `changes` has those of this one. */
export function record(known: Recorded | null, observation: Observation | null): Recorded {
  const holdings = known === null ? holdNothing() : structuredClone(known.holdings);
  const observations = observation === null ? [] : [observation];
  const recorded = recordObservations(known?.state ?? null, holdings, observations);
  return { ...recorded, holdings };
}

/** What a name is observed to have where some types have a reply, and the others another one. */
export async function look(
  known: Recorded | null,
  domain: string,
  usual: Reply,
  reply = usual,
  types: readonly string[] = TYPES,
): Promise<Recorded> {
  const answers = TYPES.map(
    (type) => [type, answerTo(domain, type, types.includes(type) ? reply : usual)] as const,
  );
  return record(known, await observe(domain, new Map(answers)));
}

export const toText = ({ host, type, rdata }: DnsRecord) => `${host} ${type} ${rdata}`;

const textsOf = (stays: readonly { readonly record: DnsRecord }[]) =>
  stays.map(({ record: own }) => toText(own)).sort();

export const addedIn = ({ changes }: Recorded) => textsOf(changes.flatMap(({ added }) => added));
export const removedIn = ({ changes }: Recorded) => textsOf(changes.flatMap(({ removed }) => removed));

export function presentIn(progress: Recorded): string[] {
  return textsOf([...progress.holdings.records.values()].flatMap((stays) => [...stays.values()]));
}

/** Rdata of each queried type; none of it is in the zone of the tests. */
const RDATA: ReadonlyMap<string, Buffer> = new Map([
  ['A', hex`cb007107`],
  ['AAAA', hex`20010db8 00000000 00000000 00007107`],
  ['NS', nameOctets('ns7.test')],
  ['SOA', SOA_RDATA],
  // Two character-strings: "a" and "bc".
  ['TXT', hex`01 61 02 6263`],
  ['CNAME', nameOctets('other.test')],
  ['MX', hex`000a ${nameOctets('mx7.test')}`],
  // Flags 0, a tag of five octets, "issue", and the value ";".
  ['CAA', hex`00 05 6973737565 3b`],
]);

/** A pointer to the name of the question. */
const QUESTION = hex`c00c`;

/** A record of the queried type; its owner is the queried name unless another is given. */
export function wanted({ type, number }: Asked, owner = QUESTION, dnsClass = 1): Buffer {
  return rr(owner, number, RDATA.get(type) ?? Buffer.of(), dnsClass);
}

export function otherType({ type }: Asked): Buffer {
  return type === 'A' ? rr(QUESTION, 16, hex`02 6869`) : rr(QUESTION, 1, hex`cb007107`);
}

/**
 * An RRSIG of the queried name (RFC 4034, section 3.1): type covered, algorithm, labels, original TTL, expiration,
 * inception, key tag, signer's name, signature.
 */
export function rrsig({ number }: Asked): Buffer {
  const rdata = hex`${uint16(number)} 0d 02 0000003c 7fffffff 00000001 1234 ${nameOctets('test')} 00112233`;
  return rr(QUESTION, 46, rdata);
}

type Part = Buffer | Reply;

const octetsOf = (asked: Asked, parts: readonly Part[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'function' ? part(asked) : part)));

/** A reply with these flags, the question of the query, and the records of its sections. */
export function reply(flags: string, ...sections: readonly (readonly Part[])[]): Reply {
  const [answer = [], authority = [], additional = []] = sections;
  const counts = uint16(1, answer.length, authority.length, additional.length);
  return (asked) =>
    hex`${Buffer.from(flags, 'hex')} ${counts} ${asked.section} ${octetsOf(asked, sections.flat())}`;
}

/** A reply whose flags and counts are as they are given, whatever follows the question. */
export function counted(header: string, ...parts: readonly Part[]): Reply {
  const octets = Buffer.from(header.replaceAll(' ', ''), 'hex');
  return (asked) => hex`${octets} ${asked.section} ${octetsOf(asked, parts)}`;
}
