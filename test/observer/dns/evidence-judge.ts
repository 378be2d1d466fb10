import type { DnsRecord } from '../../../src/model/dns-record.js';
import { nameKey, nameOctets, parentKey } from '../../support/dns-octets.js';
import {
  rdataReader,
  readMessage,
  WireError,
  type WireMessage,
  type WireRecord,
} from './evidence-message.js';
import { recordOf } from './evidence-rdata.js';

/*
 * What a reply proves, stated a second time, apart from the program: RFC 1034 (3.6.2, 4.3.2), 1035 (4),
 * 2308 (2), 6604 and 6672. What a reply does not prove must not change a history.
 */

/** What was queried, in class IN. */
export interface AskedQuestion {
  readonly name: string;
  readonly type: number;
}

/** The CNAMEs and DNAMEs of the chain, each under its own owner. */
interface Chain {
  readonly aliases: readonly DnsRecord[];
}

/** What is proved: the records of the queried type, all of them, or that there are none. */
export interface Evidence extends Chain {
  readonly kind: 'evidence';
  /** False for NXDOMAIN. */
  readonly nameExists: boolean;
  readonly records: readonly DnsRecord[];
}

/** A negative answer without an SOA: it counts if another server answers the same. */
interface Bare extends Chain {
  readonly kind: 'bare';
  readonly nameExists: boolean;
}

/** It proves nothing of the queried type. An incomplete chain still shows its CNAMEs and DNAMEs. */
interface NoEvidence extends Chain {
  readonly kind: 'none' | 'incomplete';
  readonly why: string;
}

export type Verdict = Evidence | Bare | NoEvidence;

const [CNAME, SOA, DNAME, OPT, RRSIG] = [5, 6, 39, 41, 46];
const IN = 1;
const [NOERROR, NXDOMAIN] = [0, 3];
const [QR, OPCODE, AA, TC, RA, RCODE] = [0x8000, 0x7800, 0x0400, 0x0200, 0x0080, 0x000f];

/**
 * Judges all replies of one server to one question, in the order in which they came: to the first time that it was
 * asked, and to each time that it was asked again.
 *
 * @param replies without those that have another id.
 */
export function judge(question: AskedQuestion, replies: readonly Buffer[]): Verdict {
  let last: Verdict = { kind: 'none', why: 'no reply', aliases: [] };
  for (const reply of replies) {
    last = judgeReply(question, reply);
    if (last.kind === 'evidence') return last;
  }
  return last.kind === 'bare' ? { ...last, kind: 'none', why: 'no other server says the same' } : last;
}

/** Judges one reply by itself. */
export function judgeReply(question: AskedQuestion, reply: Buffer): Verdict {
  try {
    return judgeMessage({ ...question, key: nameKey(nameOctets(question.name)) }, readMessage(reply));
  } catch (error) {
    if (error instanceof WireError) return none(error.message);
    throw error;
  }
}

type Keyed = AskedQuestion & { readonly key: string };

function judgeMessage(asked: Keyed, message: WireMessage): Verdict {
  const { flags } = message;
  if ((flags & (QR | OPCODE)) !== QR || !repeats(asked, message)) return none('no reply to this question');
  if ((flags & TC) !== 0) return none('truncated');
  const rcode = extendedRcode(message);
  if (rcode !== NOERROR && rcode !== NXDOMAIN) return none(`RCODE ${rcode}`);
  if ((flags & (AA | RA)) === 0) return none('it neither knows nor asks');
  for (const record of message.answer) {
    if (record.class === IN && [CNAME, DNAME].includes(record.type)) recordOf(message, record);
  }
  const chain = followChain(asked, message);
  if (chain.why !== undefined) return none(chain.why, chain.aliases);
  const wanted = (record: WireRecord) => isOf(record, chain.end, asked.type);
  const records = message.answer.filter(wanted).map((record) => recordOf(message, record));
  if (records.length === 0) return judgeAbsence(asked, message, chain, wanted);
  if (rcode === NXDOMAIN) return none('NXDOMAIN with the very records', chain.aliases);
  return { kind: 'evidence', nameExists: true, records, aliases: chain.aliases };
}

/** No records at the end of the chain: whether the message proves that there are none. */
function judgeAbsence(
  { type }: Keyed,
  message: WireMessage,
  chain: FollowedChain,
  wanted: (record: WireRecord) => boolean,
): Verdict {
  const { aliases } = chain;
  const nameExists = extendedRcode(message) === NOERROR;
  const { answer, authority, additional } = message;
  if (answer.some((record) => !chain.records.has(record) && !signs(record, chain))) {
    return none('other records in the answer', aliases);
  }
  if ([...authority, ...additional].some(wanted)) {
    return { kind: 'incomplete', why: 'the records are elsewhere in it', aliases };
  }
  const proofs = authority.filter((record) => isOfEnclosingZone(record, chain.end));
  if (proofs.some((record) => isReadable(message, record))) {
    return { kind: 'evidence', nameExists, records: [], aliases };
  }
  if (proofs.length > 0) return none('an SOA that is none');
  const isEmpty = answer.length === 0 && authority.length === 0;
  if (isEmpty && (message.flags & RA) !== 0) return { kind: 'bare', nameExists, aliases };
  return { kind: 'incomplete', why: `nothing proves that type ${type} has no records`, aliases };
}

/** The SOA of a zone that encloses the name (RFC 2308, section 2). */
function isOfEnclosingZone(record: WireRecord, name: string): boolean {
  return record.type === SOA && record.class === IN && selfAndAncestors(name).includes(record.owner);
}

function isReadable(message: WireMessage, record: WireRecord): boolean {
  try {
    return recordOf(message, record) !== undefined;
  } catch (error) {
    if (error instanceof WireError) return false;
    throw error;
  }
}

/** The signatures of a chain; one without a chain would be of records that are not there. */
function signs(record: WireRecord, { records }: FollowedChain): boolean {
  return record.type === RRSIG && records.size > 0;
}

interface FollowedChain extends Chain {
  /** The name at its end, as a key. */
  readonly end: string;
  /** The records that it is made of. */
  readonly records: ReadonlySet<WireRecord>;
  /** Why it has no end. */
  readonly why?: string;
}

/** Follows CNAMEs, and DNAMEs of proper ancestors, from the queried name: the answer section in any order. */
function followChain(asked: Keyed, message: WireMessage): FollowedChain {
  const records = new Set<WireRecord>();
  const seen = new Set<string>();
  let end = asked.key;
  const done = (why?: string): FollowedChain => {
    const aliases = [...records].map((record) => recordOf(message, record));
    return { aliases, end, records, ...(why === undefined ? {} : { why }) };
  };
  if (asked.type === CNAME) {
    // A CNAME may follow from a DNAME, which is shown beside it, and proves nothing without it.
    const links = message.answer.filter((record) => leadsOn(record, end));
    const dnames = links.filter(({ type }) => type === DNAME);
    const aliases = dnames.map((record) => recordOf(message, record));
    const targets = new Set(links.map((record) => targetOf(record, end, message)));
    return dnames.length > 0 && targets.size > 1 ? done('two ways to go on') : { ...done(), aliases };
  }
  for (;;) {
    if (seen.has(end)) return done('the chain is a loop');
    seen.add(end);
    const links = message.answer.filter((record) => leadsOn(record, end));
    const targets = new Set(links.map((record) => targetOf(record, end, message)));
    for (const record of links) records.add(record);
    const [target] = targets;
    if (targets.size > 1) return done('two ways to go on');
    if (target === undefined) return done();
    end = target;
  }
}

function leadsOn(record: WireRecord, name: string): boolean {
  if (record.class !== IN) return false;
  if (record.type === CNAME) return record.owner === name;
  return record.type === DNAME && selfAndAncestors(name).slice(1).includes(record.owner);
}

/** The target of a CNAME; of a DNAME with the labels that the name has below its owner (RFC 6672, 2.2). */
function targetOf(record: WireRecord, name: string, message: WireMessage): string {
  const target = rdataReader(message, record).name();
  if (record.type === CNAME) return target;
  const substituted = name.slice(0, name.length - record.owner.length) + target;
  if (substituted.length > 255) throw new WireError('a DNAME leads to a name of more than 255 octets');
  return substituted;
}

/** Whether the message repeats the question, its only one (RFC 9619). */
function repeats(asked: Keyed, { questions }: WireMessage): boolean {
  const [question] = questions;
  if (question === undefined || questions.length !== 1) return false;
  return question.name === asked.key && question.type === asked.type && question.class === IN;
}

/** The RCODE with the eight upper bits of the OPT record (RFC 6891, section 6.1.3). */
function extendedRcode({ flags, additional }: WireMessage): number {
  const upper = additional.filter(({ type }) => type === OPT).map(({ ttl }) => Math.floor(ttl / 0x1000000));
  return Math.max(0, ...upper) * 16 + (flags & RCODE);
}

function isOf(record: WireRecord, owner: string, type: number): boolean {
  return record.owner === owner && record.type === type && record.class === IN;
}

/** From the name itself to the root. */
function selfAndAncestors(key: string): string[] {
  return key.length <= 1 ? [key] : [key, ...selfAndAncestors(parentKey(key))];
}

function none(why: string, aliases: readonly DnsRecord[] = []): NoEvidence {
  return { kind: 'none', why, aliases };
}
