import { nameKey, uint16, uint32 } from './dns-octets.js';
import type { ZoneRecord } from './dns-zone-file.js';

export interface DnsQuery {
  readonly id: number;
  readonly recursionDesired: boolean;
  /** The question section: name, type and class. */
  readonly question: Buffer;
  readonly name: Buffer;
  readonly type: number;
  /** What fits over UDP: 512 without EDNS (RFC 1035, section 4.2.1). */
  readonly payloadSize: number;
  readonly hasEdns: boolean;
}

/** Bits of the header (RFC 1035, section 4.1.1). */
export const FLAGS = { QR: 0x8000, AA: 0x0400, TC: 0x0200, RD: 0x0100, RA: 0x0080 } as const;

/** Reads a query with one question, in which no name is compressed; undefined for anything else. */
export function readQuery(message: Buffer): DnsQuery | undefined {
  if (message.length < 17 || message.readUInt16BE(4) !== 1) return undefined;
  let end = 12;
  while ((message[end] ?? 0) !== 0) end += 1 + (message[end] ?? 0);
  if (end + 5 > message.length) return undefined;
  const opt = message.subarray(end + 5);
  const hasEdns = message.readUInt16BE(10) > 0 && opt.length >= 11 && opt.readUInt16BE(1) === 41;
  return {
    id: message.readUInt16BE(0),
    recursionDesired: (message.readUInt16BE(2) & FLAGS.RD) !== 0,
    question: message.subarray(12, end + 5),
    name: message.subarray(12, end + 1),
    type: message.readUInt16BE(end + 1),
    payloadSize: hasEdns ? Math.max(opt.readUInt16BE(3), 512) : 512,
    hasEdns,
  };
}

export interface ResponseParts {
  readonly rcode: number;
  /** Bits of FLAGS but QR and RD. */
  readonly flags: number;
  readonly answers?: readonly ZoneRecord[] | undefined;
  readonly authorities?: readonly ZoneRecord[];
}

const OPT = Buffer.from([0, 0, 41, 16, 0, 0, 0, 0, 0, 0, 0]);

/** The message that answers the query; owner names that came before are pointers, names in rdata are not. */
export function encodeResponse(query: DnsQuery, parts: ResponseParts): Buffer {
  const { answers = [], authorities = [] } = parts;
  const flags = FLAGS.QR | (query.recursionDesired ? FLAGS.RD : 0) | parts.flags | parts.rcode;
  const additionals = query.hasEdns ? 1 : 0;
  const header = uint16(query.id, flags, 1, answers.length, authorities.length, additionals);
  const octets = [header, query.question];
  const places = new Map([[nameKey(query.name), header.length]]);
  let length = header.length + query.question.length;
  for (const { owner, type, ttl, rdata } of [...answers, ...authorities]) {
    const key = nameKey(owner);
    const place = places.get(key);
    if (place === undefined && length < 0x4000) places.set(key, length);
    const name = place === undefined ? owner : uint16(0xc000 | place);
    const fixed = Buffer.concat([uint16(type, 1), uint32(ttl), uint16(rdata.length)]);
    octets.push(name, fixed, rdata);
    length += name.length + fixed.length + rdata.length;
  }
  return Buffer.concat(query.hasEdns ? [...octets, OPT] : octets);
}
