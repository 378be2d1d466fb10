import { MalformedMessageError } from './errors.js';
import { labelText } from './host-name.js';

/** RFC 1035, section 4.1.1. */
export const HEADER_LENGTH = 12;

/** RFC 1035, section 3.1: with the length octets and the root's. */
const LONGEST_NAME = 255;
/** A length octet with one of the two highest bits is not a length (section 4.1.4). */
const LONGEST_LABEL = 63;
/** A name has at most 127 labels, and chains of pointers are useless. */
const MOST_POINTERS = 127;
const POINTER = 0xc0;

/** Reads one part of a DNS message from its front to its end; names may continue in earlier parts. */
export class MessageReader {
  readonly #message: Buffer;
  readonly #end: number;
  /** Names by the offset of their pointers: most owner names of an answer are one pointer. */
  readonly #names: Map<number, string> | null;
  #position: number;

  /**
   * @param position Where to begin.
   * @param end The end of what may be read.
   * @param names Shared by the readers of a message: an empty map for the first. Null: the octets are not a
   * message, and pointers (RFC 1035, section 4.1.4) are errors.
   */
  constructor(message: Buffer, position: number, end: number, names: Map<number, string> | null) {
    this.#message = message;
    this.#position = position;
    this.#end = end;
    this.#names = names;
  }

  /** A reader for rdata by itself: names in it are not compressed. */
  static ofRdata(octets: Buffer): MessageReader {
    return new MessageReader(octets, 0, octets.length, null);
  }

  get isAtEnd(): boolean {
    return this.#position === this.#end;
  }

  fork(): MessageReader {
    return new MessageReader(this.#message, this.#position, this.#end, this.#names);
  }

  /** A reader for the next octets, which are skipped. */
  part(length: number): MessageReader {
    const start = this.#take(length);
    return new MessageReader(this.#message, start, this.#position, this.#names);
  }

  uint8(): number {
    return this.#message.readUInt8(this.#take(1));
  }

  uint16(): number {
    return this.#message.readUInt16BE(this.#take(2));
  }

  uint32(): number {
    return this.#message.readUInt32BE(this.#take(4));
  }

  /** The next octets, as a view of the message. */
  octets(length: number): Buffer {
    const start = this.#take(length);
    return this.#message.subarray(start, start + length);
  }

  rest(): Buffer {
    return this.octets(this.#end - this.#position);
  }

  /** A `<character-string>`: a length octet and as many octets (RFC 1035, section 3.3). */
  characterString(): Buffer {
    return this.octets(this.uint8());
  }

  /** A name in canonical form (host-name.ts), its compression undone (RFC 1035, section 4.1.4). */
  name(): string {
    const target = this.#pointerTarget();
    const known = target === undefined ? undefined : this.#names?.get(target);
    if (known !== undefined) {
      this.#take(2);
      return known;
    }
    const name = this.#labels();
    if (target !== undefined) this.#names?.set(target, name);
    return name;
  }

  #take(length: number): number {
    const start = this.#position;
    if (length > this.#end - start) throw new MalformedMessageError('it ends too early');
    this.#position = start + length;
    return start;
  }

  /** Where the name points to, if it is nothing but a pointer. */
  #pointerTarget(): number | undefined {
    const start = this.#position;
    const first = this.#message[start] ?? 0;
    if (first < POINTER || this.#end - start < 2) return undefined;
    const target = this.#message.readUInt16BE(start) & 0x3fff;
    return target < start ? target : undefined;
  }

  #labels(): string {
    const labels: string[] = [];
    let reader: MessageReader = this;
    let runStart = this.#position;
    let pointers = 0;
    let nameLength = 1;
    for (let octet = reader.uint8(); octet !== 0; octet = reader.uint8()) {
      if (octet >= POINTER) {
        pointers += 1;
        runStart = reader.#pointerBefore(octet, pointers > MOST_POINTERS ? 0 : runStart);
        reader = new MessageReader(this.#message, runStart, this.#message.length, this.#names);
        continue;
      }
      nameLength += octet + 1;
      if (octet > LONGEST_LABEL) throw new MalformedMessageError('a label of an unknown kind');
      if (nameLength > LONGEST_NAME) throw new MalformedMessageError(`a name over ${LONGEST_NAME} octets`);
      labels.push(labelText(reader.octets(octet).toString('latin1')));
    }
    return labels.length === 0 ? '.' : labels.join('.');
  }

  /** The pointer must lead to a place before this one, so that no name goes in circles. */
  #pointerBefore(first: number, before: number): number {
    const target = ((first & 0x3f) << 8) | this.uint8();
    if (this.#names !== null && target >= HEADER_LENGTH && target < before) return target;
    throw new MalformedMessageError('a pointer that leads to no earlier name');
  }
}
