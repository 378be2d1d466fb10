import { attempt } from '../../../src/model/attempt.js';
import { type DnsRecord, parseDnsRecord } from '../../../src/model/dns-record.js';
import { InvalidObservationError, MalformedMessageError } from '../../../src/model/errors.js';
import { ancestorsOf, canonicalHostName } from '../../../src/model/host-name.js';
import { HEADER_LENGTH, MessageReader } from '../../../src/model/message-reader.js';
import { readRdata } from '../../../src/model/rdata-text.js';
import { TYPE_NUMBERS } from '../../support/dns-replies.js';

/*
 * What a reply proves, stated a second time, apart from the observer: RFC 1034 (3.6.2, 4.3.2), 1035 (4),
 * 2308 (2), 6604 and 6672. What a reply does not prove must not change a history.
 */

export interface Verdict {
  /** `incomplete`, too, proves nothing of the queried type, but shows the CNAMEs and DNAMEs of its chain. */
  readonly kind: 'evidence' | 'none' | 'incomplete';
  /** False for NXDOMAIN. */
  readonly nameExists: boolean;
  /** All that there are of the queried type. */
  readonly records: readonly DnsRecord[];
  /** The CNAMEs and DNAMEs of the chain, each under its own owner. */
  readonly aliases: readonly DnsRecord[];
}

interface WireRecord {
  readonly owner: string;
  readonly type: number;
  readonly class: number;
  readonly ttl: number;
  readonly rdata: MessageReader;
}

const [CNAME, SOA, DNAME, OPT, RRSIG] = [5, 6, 39, 41, 46];
const IN = 1;
const [NOERROR, NXDOMAIN] = [0, 3];
const [QR, OPCODE, AA, TC, RA, RCODE] = [0x8000, 0x7800, 0x0400, 0x0200, 0x0080, 0x000f];
const NAMES_OF_TYPES = new Map(
  [...TYPE_NUMBERS, ['DNAME', DNAME] as const].map(([name, type]) => [type, name]),
);

function verdict(kind: Verdict['kind'], aliases: readonly DnsRecord[] = []): Verdict {
  return { kind, nameExists: true, records: [], aliases };
}

export const NO_EVIDENCE = verdict('none');

/** Judges a reply to a question in class IN. */
export function judge(name: string, type: number, octets: Buffer): Verdict {
  try {
    return judgeMessage(name, type, octets);
  } catch (error) {
    if (error instanceof MalformedMessageError || error instanceof InvalidObservationError)
      return NO_EVIDENCE;
    throw error;
  }
}

function judgeMessage(name: string, type: number, octets: Buffer): Verdict {
  const reader = new MessageReader(octets, HEADER_LENGTH, octets.length, new Map());
  const [flags, questions] = [octets.readUInt16BE(2), octets.readUInt16BE(4)];
  // It is no reply, or one to another question.
  if ((flags & (QR | OPCODE)) !== QR || questions !== 1) return NO_EVIDENCE;
  if (reader.name() !== name || reader.uint16() !== type || reader.uint16() !== IN) return NO_EVIDENCE;
  const [answer = [], authority = [], additional = []] = [6, 8, 10].map((at) =>
    Array.from({ length: octets.readUInt16BE(at) }, () => readRecord(reader)),
  );
  if (!reader.isAtEnd || (flags & TC) !== 0) return NO_EVIDENCE;
  // With the eight upper bits of the OPT record (RFC 6891, section 6.1.3).
  const upper = additional.filter(({ type }) => type === OPT).map(({ ttl }) => Math.floor(ttl / 0x1000000));
  const rcode = Math.max(0, ...upper) * 16 + (flags & RCODE);
  // With neither AA nor RA, the server neither knows nor asks.
  if ((rcode !== NOERROR && rcode !== NXDOMAIN) || (flags & (AA | RA)) === 0) return NO_EVIDENCE;
  const chain = followChain(name, type, answer);
  const { aliases, end } = chain;
  if (!chain.isWhole) return NO_EVIDENCE;
  const records = answer.filter((record) => isOf(record, end, type)).map(recordOf);
  if (records.length > 0 && rcode === NXDOMAIN) return NO_EVIDENCE;
  if (records.length > 0) return { kind: 'evidence', nameExists: true, records, aliases };
  return judgeAbsence(type, chain, [answer, authority, additional], rcode === NOERROR);
}

/** No records at the end of the chain: whether the message proves that there are none. */
function judgeAbsence(
  type: number,
  { aliases, links, end }: ReturnType<typeof followChain>,
  [answer, authority, additional]: readonly [WireRecord[], WireRecord[], WireRecord[]],
  nameExists: boolean,
): Verdict {
  // The signatures of a chain; without a chain they would be of records that are not there.
  const signs = (record: WireRecord) => record.type === RRSIG && links.size > 0;
  if (answer.some((record) => !links.has(record) && !signs(record))) return NO_EVIDENCE;
  if ([...authority, ...additional].some((record) => isOf(record, end, type))) {
    return verdict('incomplete', aliases);
  }
  // The SOA of a zone that encloses the name (RFC 2308, section 2).
  const enclosing = [end, ...ancestorsOf(end)];
  const proofs = authority.filter((record) => enclosing.some((zone) => isOf(record, zone, SOA)));
  // The first that can be read is enough; the observer may have failed at one before it.
  const isReadable = ({ rdata }: WireRecord) => attempt(() => readRdata('SOA', rdata.fork())) !== undefined;
  if (proofs.length === 0) return verdict('incomplete', aliases);
  return proofs.some(isReadable) ? { ...verdict('evidence', aliases), nameExists } : NO_EVIDENCE;
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

/** Follows CNAMEs, and DNAMEs of proper ancestors, from the queried name: the answer section in any order. */
function followChain(name: string, type: number, answer: readonly WireRecord[]) {
  const links = new Set<WireRecord>();
  const seen = new Set<string>();
  let end = name;
  const all = answer.filter((record) => record.class === IN && [CNAME, DNAME].includes(record.type));
  for (const link of all) targetOf(link, link.owner);
  const done = (isWhole: boolean, shown: Iterable<WireRecord> = links) => {
    return { aliases: [...shown].map(recordOf), links, end, isWhole };
  };
  const leadingOn = () => all.filter((record) => leadsOn(record, end));
  const targets = () => new Set(leadingOn().map((record) => targetOf(record, end)));
  if (type === CNAME) {
    // A CNAME may follow from a DNAME, which is shown beside it, and proves nothing without it.
    const dnames = leadingOn().filter((record) => record.type === DNAME);
    return done(dnames.length === 0 || targets().size < 2, dnames);
  }
  for (;;) {
    if (seen.has(end)) return done(false);
    seen.add(end);
    const [target, ...others] = targets();
    for (const record of leadingOn()) links.add(record);
    if (others.length > 0) return done(false);
    if (target === undefined) return done(true);
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
  const parts = [below, target].filter((part) => part !== '' && part !== '.');
  return parts.length < 2 ? below : canonicalHostName(`${below}.${target}`);
}

function isOf(record: WireRecord, owner: string, type: number): boolean {
  return record.owner === owner && record.type === type && record.class === IN;
}
