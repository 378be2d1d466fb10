import { hostNameOctets } from '../../model/host-name.js';
import { HEADER_LENGTH } from '../../model/message-reader.js';

/** One question: a name and a type, in class IN. */
export interface Question {
  /** The name in canonical form. */
  readonly name: string;
  /** The type's canonical name (src/model/dns-types.ts). */
  readonly type: string;
  /** The question section of the message (RFC 1035, section 4.1.2). */
  readonly section: Buffer;
}

const CLASS_IN = 1;
const RECURSION_DESIRED = 0x0100;
/** RFC 9715: what fits into the packets of every network. */
const UDP_PAYLOAD_SIZE = 1232;
/** RFC 6891, section 6.1.2: an OPT record of the root, version 0, without flags and options. */
const OPT_RECORD = Buffer.from([0, 0, 41, UDP_PAYLOAD_SIZE >> 8, UDP_PAYLOAD_SIZE & 0xff, 0, 0, 0, 0, 0, 0]);

/** @param name Canonical, as canonicalHostName gives it. */
export function createQuestion(name: string, type: string, typeNumber: number): Question {
  const end = Buffer.of(typeNumber >> 8, typeNumber & 0xff, 0, CLASS_IN);
  return { name, type, section: Buffer.concat([hostNameOctets(name), end]) };
}

/** A message that asks the question, of a server that may ask others for it. */
export function encodeQuery(question: Question, id: number, withEdns: boolean): Buffer {
  const { section } = question;
  const end = HEADER_LENGTH + section.length;
  const query = Buffer.alloc(end + (withEdns ? OPT_RECORD.length : 0));
  query.writeUInt16BE(id, 0);
  query.writeUInt16BE(RECURSION_DESIRED, 2);
  query.writeUInt16BE(1, 4);
  query.writeUInt16BE(withEdns ? 1 : 0, 10);
  section.copy(query, HEADER_LENGTH);
  if (withEdns) OPT_RECORD.copy(query, end);
  return query;
}
