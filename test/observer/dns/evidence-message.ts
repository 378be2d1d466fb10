import { nameKey } from '../../support/dns-octets.js';

/*
 * A decoder of DNS messages (RFC 1035, section 4) for the judge of evidence: it shares nothing with the
 * program's own, and it reads no more than the judge asks for.
 */

/** A resource record as its octets say. */
export interface WireRecord {
  /** Owner name as a key (nameKey): its labels with their lengths, in lower case. */
  readonly owner: string;
  readonly type: number;
  readonly class: number;
  readonly ttl: number;
  /** Where its rdata begins and ends in the message; names in it may point to before. */
  readonly start: number;
  readonly end: number;
}

/** A message as its octets say. */
export interface WireMessage {
  readonly octets: Buffer;
  readonly flags: number;
  readonly questions: readonly { readonly name: string; readonly type: number; readonly class: number }[];
  readonly answer: readonly WireRecord[];
  readonly authority: readonly WireRecord[];
  readonly additional: readonly WireRecord[];
}

/** The length of the header in octets. */
const HEADER = 12;

/** A message breaks RFC 1035: it ends too early or too late, or a name in it does not end. */
export class WireError extends Error {}

/**
 * Reads a message.
 *
 * @throws WireError where its octets are not exactly what its counts say.
 */
export function readMessage(octets: Buffer): WireMessage {
  if (octets.length < HEADER) throw new WireError('no header');
  const reader = new Reader(octets, HEADER);
  const count = (at: number) => Array.from({ length: octets.readUInt16BE(at) });
  const questions = count(4).map(() => ({
    name: reader.name(),
    type: reader.uint16(),
    class: reader.uint16(),
  }));
  const [answer = [], authority = [], additional = []] = [6, 8, 10].map((at) =>
    count(at).map(() => reader.record()),
  );
  if (reader.at !== octets.length) throw new WireError('octets behind the last record');
  return { octets, flags: octets.readUInt16BE(2), questions, answer, authority, additional };
}

/** A reader of the rdata of a record. */
export function rdataReader({ octets }: WireMessage, { start, end }: WireRecord): Reader {
  return new Reader(octets, start, end);
}

/** Reads octets one after the other; nothing may be read beyond the end. */
export class Reader {
  readonly #octets: Buffer;
  readonly #end: number;
  at: number;

  constructor(octets: Buffer, at: number, end = octets.length) {
    this.#octets = octets;
    this.at = at;
    this.#end = end;
  }

  take(length: number): Buffer {
    this.at += length;
    if (this.at > this.#end) throw new WireError('cut short');
    return this.#octets.subarray(this.at - length, this.at);
  }

  rest(): Buffer {
    return this.take(this.#end - this.at);
  }

  get isAtEnd(): boolean {
    return this.at === this.#end;
  }

  uint8(): number {
    return this.take(1).readUInt8();
  }

  uint16(): number {
    return this.take(2).readUInt16BE();
  }

  uint32(): number {
    return this.take(4).readUInt32BE();
  }

  /** A name as a key. */
  name(): string {
    const [octets, after] = this.#name(this.at, this.#end);
    if (octets.length > 255) throw new WireError('a name of more than 255 octets');
    this.take(after - this.at);
    return nameKey(octets);
  }

  /**
   * The octets of the name at a place without its pointers, and the place behind it. A pointer leads to a
   * prior occurrence (RFC 1035, section 4.1.4), before the labels that it ends, so every name ends.
   */
  #name(place: number, end: number): [octets: Buffer, after: number] {
    for (let at = place; at < end; ) {
      const length = this.#octets[at] ?? 0;
      if (length >= 0xc0) {
        const target = ((length & 0x3f) << 8) | (this.#octets[at + 1] ?? 0);
        if (target < HEADER || target >= place) throw new WireError('a pointer that leads to no prior name');
        const [suffix] = this.#name(target, this.#octets.length);
        return [Buffer.concat([this.#octets.subarray(place, at), suffix]), at + 2];
      }
      if (length > 63) throw new WireError('a label of an unknown kind');
      at += 1 + length;
      if (length === 0) return [this.#octets.subarray(place, at), at];
    }
    throw new WireError('a name that is cut short');
  }

  record(): WireRecord {
    const owner = this.name();
    const [type, dnsClass, ttl, length] = [this.uint16(), this.uint16(), this.uint32(), this.uint16()];
    const start = this.at;
    this.take(length);
    return { owner, type, class: dnsClass, ttl, start, end: this.at };
  }
}
