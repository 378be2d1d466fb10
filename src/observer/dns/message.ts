import { typeNumber } from '../../model/dns-types.js';
import { InvalidObservationError } from '../../model/errors.js';
import { hostNameOctets } from '../../model/host-name.js';
import { HEADER_LENGTH } from '../../model/message-reader.js';

/** In class IN; name and type in canonical form. */
export interface Question {
  readonly name: string;
  readonly type: string;
  readonly qtype: number;
  /** The question section of the message (RFC 1035, section 4.1.2). */
  readonly section: Buffer;
}

export const CLASS_IN = 1;
const RECURSION_DESIRED = 0x0100;
/** RFC 9715: what fits into the packets of every network. */
const UDP_PAYLOAD_SIZE = 1232;
/** RFC 6891, section 6.1.2: an OPT record of the root, version 0, without flags and options. */
const OPT_RECORD = Buffer.from([0, 0, 41, UDP_PAYLOAD_SIZE >> 8, UDP_PAYLOAD_SIZE & 0xff, 0, 0, 0, 0, 0, 0]);

/** @param name Canonical. @throws InvalidObservationError for a type that cannot be queried. */
export function createQuestion(name: string, type: string): Question {
  const qtype = typeNumber(type);
  if (qtype === undefined) throw new InvalidObservationError(`${type} is not a type that can be queried`);
  const end = Buffer.of(qtype >> 8, qtype & 0xff, 0, CLASS_IN);
  return { name, type, qtype, section: Buffer.concat([hostNameOctets(name), end]) };
}

export function encodeQuery({ section }: Question, id: number, withEdns: boolean): Buffer {
  const header = Buffer.alloc(HEADER_LENGTH);
  header.writeUInt16BE(id, 0);
  header.writeUInt16BE(RECURSION_DESIRED, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(withEdns ? 1 : 0, 10);
  return Buffer.concat(withEdns ? [header, section, OPT_RECORD] : [header, section]);
}

const RESPONSE = 0x8000;
const OPCODE = 0x7800;
const AUTHORITATIVE = 0x0400;
const TRUNCATED = 0x0200;
const RECURSION_AVAILABLE = 0x0080;
const RCODE = 0x000f;

/** RFC 1035, section 4.1.1. */
export const RCODES = { NOERROR: 0, FORMERR: 1, NXDOMAIN: 3, NOTIMP: 4 };

export function isError(rcode: number): boolean {
  return rcode !== RCODES.NOERROR && rcode !== RCODES.NXDOMAIN;
}

export type Response = NonNullable<ReturnType<typeof responseTo>>;

/**
 * The message as the response to the query with this id, and its header (RFC 1035, section 4.1.1); undefined if
 * it is one to something else, or none.
 */
export function responseTo(question: Question, id: number, message: Buffer) {
  if (message.length < HEADER_LENGTH || message.readUInt16BE(0) !== id) return undefined;
  const flags = message.readUInt16BE(2);
  if ((flags & (RESPONSE | OPCODE)) !== RESPONSE) return undefined;
  const questions = message.readUInt16BE(4);
  const rcode = flags & RCODE;
  // Servers that cannot read a query send the header alone back, so that an error needs no question.
  const isBare = questions === 0 && isError(rcode);
  if (!isBare && !(questions === 1 && hasQuestion(question, message))) return undefined;
  return {
    kind: 'response',
    message,
    rcode,
    isAuthoritative: (flags & AUTHORITATIVE) !== 0,
    isTruncated: (flags & TRUNCATED) !== 0,
    recursionAvailable: (flags & RECURSION_AVAILABLE) !== 0,
    /** How many entries the answer, authority and additional sections have. */
    counts: [message.readUInt16BE(6), message.readUInt16BE(8), message.readUInt16BE(10)],
  } as const;
}

/** Its letters may be in whatever case (RFC 4343). */
function hasQuestion({ section }: Question, message: Buffer): boolean {
  const other = message.subarray(HEADER_LENGTH, HEADER_LENGTH + section.length);
  // Type and class, the last four octets, are no letters; the length octets of labels are below 0x40.
  const lower = (octets: Buffer) =>
    octets.toString('latin1').replace(/[A-Z]+/g, (text) => text.toLowerCase());
  return other.subarray(-4).equals(section.subarray(-4)) && lower(other) === lower(section);
}
