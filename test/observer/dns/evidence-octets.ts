import type { Behaviour, TestQuestion } from '../../support/dns-behaviours.js';
import { nameOctets, uint16 } from '../../support/dns-octets.js';

/*
 * Replies written by hand. The fields of a message (RFC 1035, section 4.1):
 *
 *   header    id | flags | QDCOUNT | ANCOUNT | NSCOUNT | ARCOUNT, two octets each
 *   question  name | type | class
 *   record    owner name | type | class | TTL (four octets) | length of rdata | rdata
 *
 * Flags: 8000 QR, 7800 opcode, 0400 AA, 0200 TC, 0100 RD, 0080 RA, 000f RCODE. The name c00c is a pointer to
 * the twelfth octet, where the name of the question is.
 */

/** The octets after the id; the question is that of the query. */
export type Shape = (question: TestQuestion) => Buffer;

/** Shapes under titles that say what they are. */
export type Shapes = readonly (readonly [title: string, shape: Shape])[];

/** Octets from hexadecimal, with other octets between. */
export function hex(texts: TemplateStringsArray, ...parts: readonly Buffer[]): Buffer {
  return Buffer.concat(
    texts.flatMap((text, at) => [Buffer.from(text.replaceAll(/\s/g, ''), 'hex'), parts[at] ?? Buffer.of()]),
  );
}

/** A name in full, its case as it is written. */
export const name = nameOctets;

/** Rdata with its length before it. */
export function sized(rdata: Buffer): Buffer {
  return Buffer.concat([uint16(rdata.length), rdata]);
}

/** The rdata of an SOA: MNAME, RNAME, SERIAL, REFRESH, RETRY, EXPIRE, MINIMUM. */
export const SOA_RDATA = hex`${name('ns.test')} ${name('host.test')} 00000001 00000e10 00000384 00127500 0000012c`;

/** An SOA record, in class IN. */
export function soa(owner: string): Buffer {
  return hex`${name(owner)} 0006 0001 0000012c ${sized(SOA_RDATA)}`;
}

/** An NS record, in class IN. */
export function ns(owner: string): Buffer {
  return hex`${name(owner)} 0002 0001 00000e10 ${sized(name('ns.elsewhere.test'))}`;
}

/** A CNAME record, in class IN. */
export function cname(owner: string, target: string): Buffer {
  return hex`${name(owner)} 0005 0001 0000003c ${sized(name(target))}`;
}

/** A DNAME record, in class IN. */
export function dname(owner: string, target: string): Buffer {
  return hex`${name(owner)} 0027 0001 0000003c ${sized(name(target))}`;
}

/** An A record, in class IN: 203.0.113.7. */
export function address(owner: string): Buffer {
  return hex`${name(owner)} 0001 0001 0000003c 0004 cb007107`;
}

/** Rdata of each queried type; none of it is in the zone of the tests. */
const RDATA: ReadonlyMap<string, Buffer> = new Map([
  ['A', hex`cb007107`],
  ['AAAA', hex`20010db8 00000000 00000000 00007107`],
  ['NS', name('ns7.test')],
  ['SOA', SOA_RDATA],
  // Two character-strings: "a" and "bc".
  ['TXT', hex`01 61 02 6263`],
  ['CNAME', name('other.test')],
  ['MX', hex`000a ${name('mx7.test')}`],
  // Flags 0, a tag of five octets, "issue", and the value ";".
  ['CAA', hex`00 05 6973737565 3b`],
]);

/** A record of the queried type; its owner is the queried name unless another is given. */
export function asked({ query, type }: TestQuestion, owner = hex`c00c`, dnsClass = hex`0001`): Buffer {
  return hex`${owner} ${uint16(query.type)} ${dnsClass} 0000003c ${sized(RDATA.get(type) ?? Buffer.of())}`;
}

/** A record of another type than the queried one. */
export function otherType({ type }: TestQuestion): Buffer {
  return type === 'A'
    ? hex`c00c 0010 0001 0000003c 0003 02 6869`
    : hex`c00c 0001 0001 0000003c 0004 cb007107`;
}

/**
 * An RRSIG of the queried name (RFC 4034, section 3.1): type covered, algorithm, labels, original TTL, expiration,
 * inception, key tag, signer's name, signature.
 */
export function rrsig({ query }: TestQuestion): Buffer {
  const rdata = hex`${uint16(query.type)} 0d 02 0000003c 7fffffff 00000001 1234 ${name('test')} 00112233`;
  return hex`c00c 002e 0001 0000003c ${sized(rdata)}`;
}

/** A shape of a header behind the id (flags and counts), and what follows the question. */
export function reply(header: Buffer, ...sections: (Buffer | Shape)[]): Shape {
  return (question) =>
    Buffer.concat([
      header,
      question.query.question,
      ...sections.map((section) => (typeof section === 'function' ? section(question) : section)),
    ]);
}

/** Replies in a shape, under the id of the query. */
export function shaped(shape: Shape): Behaviour {
  return (question) => ({ messages: [Buffer.concat([uint16(question.query.id), shape(question)])] });
}

/** Replies to each question, one type and one name, in one way the first time and in another thereafter. */
export function firstThen(first: Behaviour, then: Behaviour): Behaviour {
  const seen = new Set<string>();
  return (question) => {
    const key = `${question.name} ${question.type}`;
    const behaviour = seen.has(key) ? then : first;
    seen.add(key);
    return behaviour(question);
  };
}
