import { type DnsRecord, parseDnsRecord } from '../../model/dns-record.js';
import { typeNumber } from '../../model/dns-types.js';
import { InvalidObservationError } from '../../model/errors.js';
import { MalformedMessageError } from '../../model/malformed.js';
import { HEADER_LENGTH, MessageReader } from '../../model/message-reader.js';
import { readRdata } from '../../model/rdata-text.js';
import { recordsByType } from '../../model/record-set.js';
import { type Header, NOERROR, NXDOMAIN } from './header.js';
import type { Question } from './question.js';

/** What a complete message with the RCODE NOERROR or NXDOMAIN says about the question. */
export type Reading =
  | { readonly kind: 'answered'; readonly nameExists: boolean; readonly records: readonly DnsRecord[] }
  /** The server does not know, and names others that may. */
  | { readonly kind: 'referral' }
  /** An RCODE above 15, which the OPT record extends (RFC 6891, section 6.1.3). */
  | { readonly kind: 'rcode'; readonly rcode: number }
  | { readonly kind: 'malformed'; readonly reason: string };

const CLASS_IN = 1;
const CNAME = 5;
const NS = 2;
const SOA = 6;
const OPT = 41;

/** A record of the answer section that may count. */
interface AnswerRecord {
  readonly owner: string;
  readonly type: number;
  readonly rdata: MessageReader;
}

/**
 * Reads a message that answers the question (header.ts). Counted are the records of class IN and of the
 * type asked whose owner is the name asked or is reached from it by CNAMEs of the message; asked for
 * CNAME, those of the name asked. Nothing that is not needed for that is decoded.
 */
export function readAnswer(question: Question, header: Header, message: Buffer): Reading {
  try {
    return read(question, header, message);
  } catch (error) {
    if (error instanceof MalformedMessageError || error instanceof InvalidObservationError) {
      return { kind: 'malformed', reason: error.message };
    }
    throw error;
  }
}

function read(question: Question, header: Header, message: Buffer): Reading {
  // Its name is the one that most owner names point to.
  const names = new Map([[HEADER_LENGTH, question.name]]);
  const start = HEADER_LENGTH + question.section.length;
  const reader = new MessageReader(message, start, message.length, names);
  const asked = typeNumber(question.type) ?? 0;
  const answers = readAnswers(reader, header.counts[1], asked);
  const owners = asked === CNAME ? new Set([question.name]) : namesReached(question.name, answers);
  const counted = answers.filter(({ type, owner }) => type === asked && owners.has(owner));
  if (counted.length === 0) return readNegative(reader, header, owners.size > 1);
  // RFC 6604: NXDOMAIN is about the last of the names, and what is asked for there cannot exist.
  const records = header.rcode === NXDOMAIN && asked !== CNAME ? [] : counted;
  return {
    kind: 'answered',
    nameExists: header.rcode === NOERROR,
    records: recordSet(question.type, records),
  };
}

/** The records of the answer section that are in class IN and of the type asked, or CNAMEs. */
function readAnswers(reader: MessageReader, count: number, asked: number): AnswerRecord[] {
  const answers: AnswerRecord[] = [];
  for (let at = 0; at < count; at += 1) {
    const owner = reader.fork();
    reader.skipName();
    const type = reader.uint16();
    const isInClass = reader.uint16() === CLASS_IN;
    reader.uint32();
    const rdata = reader.part(reader.uint16());
    if (isInClass && (type === asked || type === CNAME)) answers.push({ owner: owner.name(), type, rdata });
  }
  return answers;
}

/** The name and those that CNAMEs lead to from it, in whatever order they stand; loops end. */
function namesReached(name: string, answers: readonly AnswerRecord[]): ReadonlySet<string> {
  const aliases = new Map<string, MessageReader[]>();
  for (const { owner, type, rdata } of answers) {
    if (type !== CNAME) continue;
    const known = aliases.get(owner);
    if (known === undefined) aliases.set(owner, [rdata]);
    else known.push(rdata);
  }
  const reached = new Set([name]);
  // A set's iteration goes on to what is added meanwhile.
  for (const owner of reached) {
    for (const rdata of aliases.get(owner) ?? []) reached.add(targetOf(rdata));
  }
  return reached;
}

function targetOf(rdata: MessageReader): string {
  const target = rdata.name();
  if (!rdata.isAtEnd) throw new MalformedMessageError('octets after the data of a record of type CNAME');
  return target;
}

function recordSet(type: string, answers: readonly AnswerRecord[]): readonly DnsRecord[] {
  const records = answers.map(({ owner, rdata }) =>
    parseDnsRecord({ host: owner, class: 'IN', type, ...readRdata(type, rdata) }),
  );
  return recordsByType(records).get(type) ?? [];
}

/**
 * A message without records that count: there are none, or the server does not know. RFC 2308, section
 * 2.2, tells them apart by the authority section. Servers that resolve, or that know the name asked to
 * have none, may leave a SOA out.
 */
function readNegative(reader: MessageReader, header: Header, isAlias: boolean): Reading {
  const [, , authorityCount, additionalCount] = header.counts;
  const authorities = readTypes(reader, authorityCount);
  const additionals = readTypes(reader, additionalCount);
  const rcode = ((additionals.get(OPT) ?? 0) << 4) | header.rcode;
  if (rcode !== header.rcode) return { kind: 'rcode', rcode };
  const knows = header.recursionAvailable || (header.isAuthoritative && !isAlias);
  if (!knows && rcode === NOERROR && authorities.has(NS) && !authorities.has(SOA))
    return { kind: 'referral' };
  return { kind: 'answered', nameExists: rcode === NOERROR, records: [] };
}

/** The types of a section's records, with the first octet of the TTL, where OPT extends the RCODE. */
function readTypes(reader: MessageReader, count: number): ReadonlyMap<number, number> {
  const types = new Map<number, number>();
  for (let at = 0; at < count; at += 1) {
    reader.skipName();
    const type = reader.uint16();
    reader.uint16();
    const ttl = reader.uint32();
    reader.part(reader.uint16());
    types.set(type, ttl >>> 24);
  }
  return types;
}
