import { attempt } from '../../../src/model/attempt.js';
import { type DnsRecord, parseDnsRecord } from '../../../src/model/dns-record.js';
import { InvalidObservationError, MalformedMessageError } from '../../../src/model/errors.js';
import { ancestorsOf, canonicalHostName } from '../../../src/model/host-name.js';
import { HEADER_LENGTH, MessageReader } from '../../../src/model/message-reader.js';
import { readRdata } from '../../../src/model/rdata-text.js';
import { TYPE_NUMBERS } from './evidence-replies.js';

/*
 * What a reply proves, stated a second time, apart from the observer: RFC 1034 (3.6.2, 4.3.2), 1035 (4),
 * 2308 (2), 6604 and 6672. What a reply does not prove must not change a history.
 */

/** The CNAMEs and DNAMEs of the chain, each under its own owner. */
interface Chain {
  readonly aliases: readonly DnsRecord[];
}

/** What is proved: the records of the queried type, all of them, or that there are none. */
interface Evidence extends Chain {
  readonly kind: 'evidence';
  /** False for NXDOMAIN. */
  readonly nameExists: boolean;
  readonly records: readonly DnsRecord[];
}

/** It proves nothing of the queried type. An incomplete chain still shows its CNAMEs and DNAMEs. */
interface NoEvidence extends Chain {
  readonly kind: 'none' | 'incomplete';
  readonly why: string;
}

export type Verdict = Evidence | NoEvidence;

interface WireRecord {
  readonly owner: string;
  readonly type: number;
  readonly class: number;
  readonly ttl: number;
  readonly rdata: MessageReader;
}

interface WireMessage {
  readonly flags: number;
  readonly answer: readonly WireRecord[];
  readonly authority: readonly WireRecord[];
  readonly additional: readonly WireRecord[];
}

const [CNAME, SOA, DNAME, OPT, RRSIG] = [5, 6, 39, 41, 46];
const IN = 1;
const [NOERROR, NXDOMAIN] = [0, 3];
const [QR, OPCODE, AA, TC, RA, RCODE] = [0x8000, 0x7800, 0x0400, 0x0200, 0x0080, 0x000f];
const NAMES_OF_TYPES = new Map(
  [...TYPE_NUMBERS, ['DNAME', DNAME] as const].map(([name, type]) => [type, name]),
);

/** Judges a reply to a question in class IN. */
export function judge(name: string, type: number, octets: Buffer): Verdict {
  try {
    return judgeMessage(name, type, octets);
  } catch (error) {
    if (error instanceof MalformedMessageError || error instanceof InvalidObservationError)
      return none('malformed');
    throw error;
  }
}

function judgeMessage(name: string, type: number, octets: Buffer): Verdict {
  const reader = new MessageReader(octets, HEADER_LENGTH, octets.length, new Map());
  const [flags, questions] = [octets.readUInt16BE(2), octets.readUInt16BE(4)];
  if ((flags & (QR | OPCODE)) !== QR || questions !== 1) return none('no reply to this question');
  if (reader.name() !== name || reader.uint16() !== type || reader.uint16() !== IN)
    return none('another question');
  const [answer = [], authority = [], additional = []] = [6, 8, 10].map((at) =>
    Array.from({ length: octets.readUInt16BE(at) }, () => readRecord(reader)),
  );
  if (!reader.isAtEnd) return none('octets behind the last record');
  const message = { flags, answer, authority, additional };
  if ((flags & TC) !== 0) return none('truncated');
  const rcode = extendedRcode(message);
  if (rcode !== NOERROR && rcode !== NXDOMAIN) return none(`RCODE ${rcode}`);
  if ((flags & (AA | RA)) === 0) return none('it neither knows nor asks');
  const chain = followChain(name, type, message);
  if (chain.why !== undefined) return none(chain.why, chain.aliases);
  const records = answer.filter((record) => isOf(record, chain.end, type)).map(recordOf);
  if (records.length === 0) return judgeAbsence(type, message, chain, rcode === NOERROR);
  if (rcode === NXDOMAIN) return none('NXDOMAIN with the very records', chain.aliases);
  return { kind: 'evidence', nameExists: true, records, aliases: chain.aliases };
}

function readRecord(reader: MessageReader): WireRecord {
  const owner = reader.name();
  const [type, dnsClass, ttl] = [reader.uint16(), reader.uint16(), reader.uint32()];
  return { owner, type, class: dnsClass, ttl, rdata: reader.part(reader.uint16()) };
}

function recordOf({ owner, type, rdata }: WireRecord): DnsRecord {
  const name = NAMES_OF_TYPES.get(type) ?? '';
  return parseDnsRecord({ host: owner, class: 'IN', type: name, ...readRdata(name, rdata.fork()) });
}

/** No records at the end of the chain: whether the message proves that there are none. */
function judgeAbsence(
  type: number,
  message: WireMessage,
  chain: FollowedChain,
  nameExists: boolean,
): Verdict {
  const { aliases } = chain;
  const { answer, authority, additional } = message;
  // The signatures of a chain; without a chain they would be of records that are not there.
  const signs = (record: WireRecord) => record.type === RRSIG && chain.records.size > 0;
  if (answer.some((record) => !chain.records.has(record) && !signs(record))) {
    return none('other records in the answer', aliases);
  }
  if ([...authority, ...additional].some((record) => isOf(record, chain.end, type))) {
    return { kind: 'incomplete', why: 'the records are elsewhere in it', aliases };
  }
  // The SOA of a zone that encloses the name (RFC 2308, section 2).
  const enclosing = [chain.end, ...ancestorsOf(chain.end)];
  const proofs = authority.filter((record) => enclosing.some((zone) => isOf(record, zone, SOA)));
  // The first that can be read is enough; the observer may have failed at one before it.
  const isReadable = ({ rdata }: WireRecord) => attempt(() => readRdata('SOA', rdata.fork())) !== undefined;
  if (proofs.some(isReadable)) return { kind: 'evidence', nameExists, records: [], aliases };
  if (proofs.length > 0) return none('an SOA that is none');
  return { kind: 'incomplete', why: `nothing proves that type ${type} has no records`, aliases };
}

interface FollowedChain extends Chain {
  readonly end: string;
  /** The records that it is made of. */
  readonly records: ReadonlySet<WireRecord>;
  /** Why it has no end. */
  readonly why?: string;
}

/** Follows CNAMEs, and DNAMEs of proper ancestors, from the queried name: the answer section in any order. */
function followChain(name: string, type: number, { answer }: WireMessage): FollowedChain {
  const records = new Set<WireRecord>();
  const seen = new Set<string>();
  let end = name;
  const links = answer.filter((record) => record.class === IN && [CNAME, DNAME].includes(record.type));
  for (const link of links) targetOf(link, link.owner);
  const done = (why?: string): FollowedChain => {
    const chain = { aliases: [...records].map(recordOf), end, records };
    return why === undefined ? chain : { ...chain, why };
  };
  const leadingOn = () => links.filter((record) => leadsOn(record, end));
  const targets = () => new Set(leadingOn().map((record) => targetOf(record, end)));
  if (type === CNAME) {
    // A CNAME may follow from a DNAME, which is shown beside it, and proves nothing without it.
    const dnames = leadingOn().filter((record) => record.type === DNAME);
    if (dnames.length > 0 && targets().size > 1) return done('two ways to go on');
    return { ...done(), aliases: dnames.map(recordOf) };
  }
  for (;;) {
    if (seen.has(end)) return done('the chain is a loop');
    seen.add(end);
    const [target, ...others] = targets();
    for (const record of leadingOn()) records.add(record);
    if (others.length > 0) return done('two ways to go on');
    if (target === undefined) return done();
    end = target;
  }
}

function leadsOn({ owner, type }: WireRecord, name: string): boolean {
  return type === CNAME ? owner === name : ancestorsOf(name).includes(owner);
}

/** The target of a CNAME; of a DNAME with the labels that the name has below its owner (RFC 6672, 2.2). */
function targetOf({ owner, type, rdata }: WireRecord, name: string): string {
  const reader = rdata.fork();
  const target = reader.name();
  if (!reader.isAtEnd) throw new MalformedMessageError('octets behind the rdata');
  if (type === CNAME) return target;
  const below = owner === '.' ? name : name.slice(0, -owner.length - 1);
  return [below, target].filter((part) => part !== '' && part !== '.').length < 2
    ? below
    : canonicalHostName(`${below}.${target}`);
}

/** The RCODE with the eight upper bits of the OPT record (RFC 6891, section 6.1.3). */
function extendedRcode({ flags, additional }: WireMessage): number {
  const upper = additional.filter(({ type }) => type === OPT).map(({ ttl }) => Math.floor(ttl / 0x1000000));
  return Math.max(0, ...upper) * 16 + (flags & RCODE);
}

function isOf(record: WireRecord, owner: string, type: number): boolean {
  return record.owner === owner && record.type === type && record.class === IN;
}

function none(why: string, aliases: readonly DnsRecord[] = []): NoEvidence {
  return { kind: 'none', why, aliases };
}
