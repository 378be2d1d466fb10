import { MalformedMessageError } from './errors.js';
import { labelText } from './host-name.js';

/** RFC 1035, section 4.1.1. */
export const HEADER_LENGTH = 12;

/** RFC 1035, section 3.1: with the length octets and the root's. */
const MAX_NAME = 255;
const MAX_LABEL = 63;
/** A name has at most 127 labels, and chains of pointers are useless. */
const MAX_POINTERS = 127;
const POINTER = 0xc0;

/** Reads one part of a DNS message from its front to its end; names may continue in earlier parts. */
export class MessageReader {
  readonly #message: Buffer;
  readonly #end: number;
  /** Names by the offset of their pointers: most owner names of an answer are one pointer. */
  readonly #names: Map<number, string> | null;
  #position: number;

  /**
   * @param names Shared by the readers of a message: an empty map for the first. Null: the octets are not a
   * message, and pointers (RFC 1035, section 4.1.4) are errors.
   */
  constructor(message: Buffer, position: number, end: number, names: Map<number, string> | null) {
    this.#message = message;
    this.#position = position;
    this.#end = end;
    this.#names = names;
  }

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
    return new MessageReader(this.#message, this.#take(length), this.#position, this.#names);
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

  /** As a view of the message. */
  octets(length: number): Buffer {
    return this.#message.subarray(this.#take(length), this.#position);
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
    const labels: string[] = [];
    let reader: MessageReader = this;
    let start = this.#position;
    let length = 1;
    let pointers = 0;
    /** Where the name begins, if it is nothing but a pointer. */
    let target: number | undefined;
    for (let octet = reader.uint8(); octet !== 0; octet = reader.uint8()) {
      if (octet < POINTER) {
        length += octet + 1;
        labels.push(reader.#label(octet, length));
        continue;
      }
      pointers += 1;
      start = reader.#pointerBefore(octet, start, pointers);
      if (labels.length === 0) {
        const known = this.#names?.get(start);
        if (known !== undefined) return known;
        target ??= start;
      }
      reader = new MessageReader(this.#message, start, this.#message.length, this.#names);
    }
    const name = labels.join('.') || '.';
    if (target !== undefined) this.#names?.set(target, name);
    return name;
  }

  #label(length: number, nameLength: number): string {
    if (length > MAX_LABEL) throw new MalformedMessageError('a label of an unknown kind');
    if (nameLength > MAX_NAME) throw new MalformedMessageError(`a name over ${MAX_NAME} octets`);
    return labelText(this.octets(length).toString('latin1'));
  }

  /** The pointer must lead to a place before this one, so that no name goes in circles. */
  #pointerBefore(first: number, before: number, pointers: number): number {
    const target = ((first & 0x3f) << 8) | this.uint8();
    const isEarlier = target >= HEADER_LENGTH && target < before;
    if (this.#names !== null && isEarlier && pointers <= MAX_POINTERS) return target;
    throw new MalformedMessageError('a pointer that leads to no earlier name');
  }

  #take(length: number): number {
    const start = this.#position;
    if (length > this.#end - start) throw new MalformedMessageError('it ends too early');
    this.#position = start + length;
    return start;
  }
}
