import { type DnsRecord, parseDnsRecord, recordsByType } from '../../model/dns-record.js';
import { InvalidObservationError, MalformedMessageError } from '../../model/errors.js';
import { ancestorsOf, canonicalHostName } from '../../model/host-name.js';
import { HEADER_LENGTH, MessageReader } from '../../model/message-reader.js';
import { readRdata } from '../../model/rdata-text.js';
import { type DnsAnswer, type FailedAnswer, type FailureCode, failed } from '../verdict.js';
import { CLASS_IN, isError, type Question, RCODES, type Response } from './message.js';

const NS = 2;
const CNAME = 5;
const SOA = 6;
const DNAME = 39;
const OPT = 41;
const DS = 43;
const RRSIG = 46;

const REFERS = 'does not resolve: it refers to other servers';

/** Its rdata is decoded where it is needed. */
type ResourceRecord = ReturnType<typeof readRecord>;

/** `server`: its address and port, with which the message of a failure begins. */
type Message = Response &
  ReturnType<typeof readSections> & { readonly server: string; readonly question: Question };

type Alias = ReturnType<typeof aliasOf>[number];

/** The aliases that lead from a name to the end of its chain (RFC 1034, section 3.6.2; RFC 6672). */
interface Chain {
  readonly links: ReadonlySet<Alias>;
  /** The name that has no alias in the message. */
  readonly end: string;
  /** Completes a sentence about the chain; absent where it has an end. */
  readonly fault?: string;
}

/** Resolvers give up before (BIND 9 after 11, Unbound after 12 aliases). */
const MAX_NAMES = 64;

/**
 * What a response proves about its question. A type is answered by records of that type and class IN whose
 * owner is the end of a complete chain of CNAMEs and DNAMEs (RFC 1034, section 4.3.2; RFC 6672), or by a
 * negative answer with the SOA of a zone that encloses that end (RFC 2308, sections 2.1 and 2.2). Everything
 * else is a failure: a record must not be taken for removed because a server did not know it
 * (docs/decisions/0007-evidence.md).
 *
 * @param server Its address and port, for messages.
 * @param response A truncated one only if it came over TCP.
 */
export function readAnswer(server: string, question: Question, response: Response): DnsAnswer {
  const { rcode } = response;
  if (isError(rcode)) return rcodeFailure(server, rcode);
  if (response.isTruncated) {
    return failed('truncated', `the answer of ${server} does not fit into a message over TCP`);
  }
  try {
    const message = { ...response, server, question, ...readSections(question, response) };
    const extended = extendedRcode(message);
    return extended === rcode ? weigh(message) : rcodeFailure(server, extended);
  } catch (error) {
    if (error instanceof MalformedMessageError || error instanceof InvalidObservationError) {
      return failed('malformed', `${server} sends a malformed message: ${error.message}`);
    }
    throw error;
  }
}

/** In their order: RFC 1035, section 4.1.1; RFC 2136, section 2.2. */
const RCODE_NAMES: readonly (string | undefined)[] =
  'NOERROR FORMERR SERVFAIL NXDOMAIN NOTIMP REFUSED YXDOMAIN YXRRSET NXRRSET NOTAUTH NOTZONE'.split(' ');
const RCODE_FAILURES: Readonly<Record<string, FailureCode>> = { SERVFAIL: 'servfail', REFUSED: 'refused' };

function rcodeFailure(server: string, rcode: number): FailedAnswer {
  const name = RCODE_NAMES[rcode] ?? `RCODE ${rcode}`;
  return failed(RCODE_FAILURES[name] ?? 'rcode', `${name} from ${server}`);
}

function weigh(message: Message): DnsAnswer {
  const { name, qtype } = message.question;
  // A DNAME applies only to the names below it.
  const others = message.answer.filter((record) => !(qtype === DNAME && isOf(record, DNAME, name)));
  const chain = followChain(name, others.flatMap(aliasOf), qtype === CNAME);
  const records = message.answer.filter((record) => isOf(record, qtype, chain.end));
  if (!message.isAuthoritative && !message.recursionAvailable) {
    if (records.length === 0 && isReferral(message)) return noEvidence(message, 'referral', REFERS);
    return noEvidence(message, 'lame', 'is neither authoritative for the name nor recursive');
  }
  if (chain.fault !== undefined) {
    return noEvidence(message, 'malformed', `sends a chain of aliases that ${chain.fault}`);
  }
  return records.length > 0 ? readPositive(message, chain, records) : readNegative(message, chain);
}

/** Name servers in place of an answer (RFC 1034, section 4.3.2). */
function isReferral({ authority }: Message): boolean {
  return authority.some(({ type }) => type === NS) && !authority.some(({ type }) => type === SOA);
}

/** The three sections of a message (RFC 1035, section 4.1). */
function readSections(question: Question, { counts, message }: Response) {
  // Its name is the one that most owner names point to.
  const names = new Map([[HEADER_LENGTH, question.name]]);
  const start = HEADER_LENGTH + question.section.length;
  const reader = new MessageReader(message, start, message.length, names);
  const [answer = [], authority = [], additional = []] = counts.map((length) =>
    Array.from({ length }, () => readRecord(reader)),
  );
  if (!reader.isAtEnd) throw new MalformedMessageError('octets after the last record');
  return { answer, authority, additional };
}

function readRecord(reader: MessageReader) {
  // A name that cannot be read may be that of a record that contradicts the answer.
  const owner = reader.name();
  const [type, dnsClass, ttl] = [reader.uint16(), reader.uint16(), reader.uint32()];
  return { owner, type, class: dnsClass, ttl, rdata: reader.part(reader.uint16()) };
}

/** The first octet of the OPT record's TTL extends that of the header (RFC 6891, sections 6.1.1 and 6.1.3). */
function extendedRcode({ rcode, additional }: Message): number {
  const [opt, ...others] = additional.filter(({ type }) => type === OPT);
  if (others.length > 0) throw new MalformedMessageError('more than one OPT record');
  return opt === undefined ? rcode : ((opt.ttl >>> 24) << 4) | rcode;
}

function aliasOf(record: ResourceRecord) {
  const { owner, type } = record;
  if (record.class !== CLASS_IN || (type !== CNAME && type !== DNAME)) return [];
  const rdata = record.rdata.fork();
  const target = rdata.name();
  if (!rdata.isAtEnd) throw new MalformedMessageError('octets after the data of a CNAME or DNAME');
  return [{ owner, type: type === CNAME ? 'CNAME' : 'DNAME', target, record }];
}

/** @param stopsAtCname The query is for the CNAME of the name itself: none is followed (RFC 1034, 4.3.2). */
function followChain(name: string, aliases: readonly Alias[], stopsAtCname: boolean): Chain {
  const links = new Set<Alias>();
  const passed = new Set<string>();
  let end = name;
  while (!passed.has(end) && passed.size < MAX_NAMES) {
    passed.add(end);
    const above = ancestorsOf(end);
    const isNext = ({ type, owner }: Alias) => (type === 'CNAME' ? owner === end : above.includes(owner));
    const found = aliases.filter(isNext);
    const followed = stopsAtCname ? found.filter(({ type }) => type === 'DNAME') : found;
    if (followed.length === 0) return { links, end };
    // A CNAME below a DNAME is the one that follows from it (RFC 6672, section 2.4): any other contradicts it.
    const [next = end, ...others] = new Set(found.map((alias) => targetOf(end, alias)));
    if (others.length > 0) return { links, end, fault: 'branches' };
    for (const alias of followed) links.add(alias);
    if (stopsAtCname) return { links, end };
    end = next;
  }
  return { links, end, fault: passed.has(end) ? 'loops' : `has over ${MAX_NAMES} names` };
}

/**
 * Of a DNAME, the name with its target in the place of its owner (RFC 6672, section 2.2): the CNAME that a
 * server synthesizes may be missing. @throws InvalidObservationError for a name that becomes too long.
 */
function targetOf(name: string, { owner, type, target }: Alias): string {
  if (type === 'CNAME') return target;
  const prefix = owner === '.' ? name : name.slice(0, -owner.length - 1);
  return target === '.' ? prefix : canonicalHostName(`${prefix}.${target}`);
}

function isOf(record: ResourceRecord, type: number, owner: string): boolean {
  return record.type === type && record.class === CLASS_IN && record.owner === owner;
}

function readPositive(message: Message, chain: Chain, records: readonly ResourceRecord[]): DnsAnswer {
  if (message.rcode === RCODES.NXDOMAIN) {
    const reason = 'says that the name does not exist (NXDOMAIN), and sends its records';
    return noEvidence(message, 'malformed', reason);
  }
  const { type } = message.question;
  const parsed = records.map(({ rdata }) =>
    parseDnsRecord({ host: chain.end, class: 'IN', type, ...readRdata(type, rdata.fork()) }),
  );
  const set = recordsByType(parsed).get(type) ?? [];
  return { kind: 'answered', nameExists: true, records: set, aliases: aliasRecords(chain) };
}

/** Without records of the queried type: they do not exist, or the server does not know them. */
function readNegative(message: Message, chain: Chain): DnsAnswer {
  const { server, answer, authority, additional, rcode } = message;
  const { qtype } = message.question;
  const nameExists = rcode === RCODES.NOERROR;
  const hasChain = chain.links.size > 0;
  const links = new Set(Array.from(chain.links, ({ record }) => record));
  // The links of the chain and, as far as can be told, their signatures.
  if (!answer.every((record) => (record.type === RRSIG ? hasChain : links.has(record)))) {
    return noEvidence(message, 'unproven', 'answers with records that were not queried');
  }
  if (qtype === CNAME && hasChain) {
    return noEvidence(message, 'incomplete', 'sends a DNAME without the CNAME that follows from it');
  }
  if (isReferral(message)) return noEvidence(message, 'referral', REFERS, chain);
  if ([...authority, ...additional].some((record) => isOf(record, qtype, chain.end))) {
    return noEvidence(message, 'unproven', 'sends the queried records outside its answer', chain);
  }
  if (authority.some((record) => isProof(record, qtype, chain.end))) {
    return { kind: 'answered', nameExists, records: [], aliases: aliasRecords(chain) };
  }
  if (message.recursionAvailable && answer.length === 0 && authority.length === 0) {
    const reason = 'denies the records without proof, and no other resolver of DNS_SERVERS says the same';
    return { ...noEvidence(message, 'unproven', reason), denial: { server, nameExists } };
  }
  return hasChain
    ? noEvidence(message, 'incomplete', `does not say what the alias ${chain.end} leads to`, chain)
    : noEvidence(message, 'unproven', 'denies the records without the SOA record of their zone (RFC 2308)');
}

/**
 * The SOA of the zone that the name is in, or of one above it, proves a negative answer. DS records are above
 * the cut, and only a zone there can deny them (RFC 4035, section 3.1.4.1).
 */
function isProof({ type, class: dnsClass, owner: zone, rdata }: ResourceRecord, qtype: number, name: string) {
  if (type !== SOA || dnsClass !== CLASS_IN) return false;
  readRdata('SOA', rdata.fork());
  return ancestorsOf(name).includes(zone) || (zone === name && qtype !== DS);
}

function aliasRecords(chain?: Chain): readonly DnsRecord[] {
  return Array.from(chain?.links ?? [], ({ owner, type, target }) => {
    const rdata = type === 'CNAME' ? { target } : { data: target === '.' ? target : `${target}.` };
    return parseDnsRecord({ host: owner, class: 'IN', type, ...rdata });
  });
}

/** @param chain An incomplete one, whose aliases count nevertheless. */
function noEvidence({ server }: Message, code: FailureCode, reason: string, chain?: Chain): FailedAnswer {
  return { ...failed(code, `${server} ${reason}`), aliases: aliasRecords(chain) };
}
