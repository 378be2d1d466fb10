import { parseDomainName } from '../model/domain-name.js';
import { InvalidObservationError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';
import { isJsonObject, readAt, requireText } from '../model/json-values.js';
import { fieldOctets } from '../model/master-text.js';
import { quoted } from '../model/text.js';
import {
  type AnswerOptions,
  type AnswerRecord,
  isOf,
  isReferralToRoot,
  type Json,
  joinedText,
  lineOfAnswers,
  PROOFS,
  shownValue,
  textOf,
} from './dns-answers.js';
import type { ParsedLine } from './import-lines.js';
import { parseJsonLine, parseTimeOfLine } from './json-line.js';

/** Owner name, TTL, class, type, and rdata. */
const RECORD = /^(\S+)\s+(\d+)\s+(\S+)\s+(\S+)\s+(.*)$/s;

const OMITTED = {
  text:
    'With -omit-raw, dnsx does not write all of the data of MX, SRV and CAA records, nor of whom the records behind an alias are: ' +
    'these types were not observed. Run it without -omit-raw.',
};

/**
 * Makes what parses the lines that dnsx of ProjectDiscovery writes with `-json`, version 1.2: the DNS records of a name.
 *
 * The types that were queried are not in a line: those of which it has records were observed, others were not.
 */
export function createDnsxParser({
  observedAt,
  limits,
}: AnswerOptions): (line: string, now: Instant) => ParsedLine {
  return (text, now) => {
    const line = parseJsonLine(text);
    if (line['hosts_file'] === true) {
      throw new InvalidObservationError(
        'hosts_file: the addresses are from a file of the machine, not from DNS.',
      );
    }
    const domain = readAt('host', () => parseDomainName(requireText(line['host'])));
    const time = parseTimeOfLine('timestamp', line['timestamp'], now, observedAt);
    const isWhole = line['all'] !== undefined;
    const records = isWhole
      ? readAt('all', () => listIn(line['all'])).flatMap(recordOf)
      : unambiguous(line, domain);
    if (!records.some((record) => !PROOFS.has(record.type) && isOf(domain, record))) {
      const status = line['status_code'] === undefined ? '' : ` (status ${shownValue(line['status_code'])})`;
      throw new InvalidObservationError(
        `nothing was observed: the line has no records of ${quoted(domain)}${status}, and does not tell which types were queried.`,
      );
    }
    const answers = { domain, observedAt: time, source: 'dnsx', types: null, records };
    return lineOfAnswers([answers], limits, undefined, isWhole || !isOmitting(line) ? [] : [OMITTED]);
  };
}

function listIn(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new InvalidObservationError('it is not a list.');
}

/** From a line of a master file; what begins with `;` tells of the message. */
function recordOf(line: unknown): AnswerRecord[] {
  if (typeof line === 'string' && /^\s*;/.test(line)) return [];
  const [, host, , dnsClass, type = '', data] = RECORD.exec(typeof line === 'string' ? line : '') ?? [];
  return [
    host === undefined
      ? unread('', `${shownValue(line)} is not a record in the form of a master file.`)
      : { host, class: dnsClass, type, fields: () => ({ data }) },
  ];
}

/** A record that cannot be read. */
function unread(type: string, reason: string): AnswerRecord {
  const fields = () => {
    throw new InvalidObservationError(reason);
  };
  return { host: undefined, type, fields };
}

/** What dnsx does not write in whole. */
const PARTIAL = ['mx', 'srv', 'caa'];

/** The arrays by their types. Behind an alias the addresses are of its target. */
function unambiguous(line: Json, domain: string): AnswerRecord[] {
  const servers = textsOf(line['ns']);
  if (isReferralToRoot(domain, servers)) {
    throw new InvalidObservationError(
      'nothing was observed: the response is a referral to the name servers of the root.',
    );
  }
  const recordsOf = (key: string, fieldsOf = (data: string): Json => ({ data })) =>
    itemsOf(line[key]).map((item) => ({
      host: domain,
      type: key.toUpperCase(),
      fields: () => fieldsOf(textOf(key, item)),
    }));
  const aliases = recordsOf('cname');
  // The status is that of the last name (RFC 6604, section 3).
  if (aliases.length > 0) return aliases.length === 1 ? aliases : [];
  if (line['status_code'] === 'NXDOMAIN') return [];
  const authorities = itemsOf(line['soa']).map(startOfAuthority);
  const isOfOther = authorities.some((record) => record.host === undefined || !isOf(domain, record));
  return [
    ...['a', 'aaaa', 'ptr'].flatMap((key) => recordsOf(key)),
    ...(isOfOther && servers.length > 0 ? [unread('NS', NOT_OWN)] : recordsOf('ns')),
    ...recordsOf('txt', (text) => joinedText(fieldOctets(text))),
    ...authorities,
  ];
}

const NOT_OWN = 'the name servers may be those of the zone whose SOA record is beside them.';

function isOmitting(line: Json): boolean {
  const isBehindAlias =
    textsOf(line['cname']).length > 0 && ['a', 'aaaa', 'ns', 'ptr', 'txt'].some((key) => key in line);
  return isBehindAlias || PARTIAL.some((key) => key in line);
}

/** Its empty values and zeros are left out. Old versions write two names, without the owner and the numbers. */
function startOfAuthority(item: unknown): AnswerRecord {
  if (!isJsonObject(item)) return unread('SOA', `soa: ${shownValue(item)} is not a whole record.`);
  const { name, ns, mailbox, serial, refresh, retry, expire, minttl } = item;
  const numbers = { serial, refresh, retry, expire, 'minimum-ttl': minttl };
  const complete = Object.fromEntries(Object.entries(numbers).map(([key, number]) => [key, number ?? 0]));
  return {
    host: name ?? '.',
    type: 'SOA',
    fields: () => ({ mname: ns ?? '.', rname: mailbox ?? '.', ...complete }),
  };
}

/** One value that stands without a list counts as a list of it. */
function itemsOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  return value === undefined || value === null ? [] : [value];
}

function textsOf(value: unknown): readonly string[] {
  return itemsOf(value).filter((item) => typeof item === 'string');
}
