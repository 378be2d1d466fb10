import { parseDomainName } from '../model/domain-name.js';
import { InvalidObservationError } from '../model/errors.js';
import { isJsonObject, readAt, requireText } from '../model/json-values.js';
import { fieldOctets } from '../model/master-text.js';
import { quoted } from '../model/text.js';
import {
  type AnswerOptions,
  type AnswerRecord,
  isOf,
  joinedText,
  lineOfAnswers,
  shownValue,
  textOf,
} from './dns-answers.js';
import { type FormatParser, type Json, parseJsonLine, parseTimeOfLine } from './json-line.js';

/** Owner name, TTL, class, type, and rdata. */
const RECORD = /^(\S+)\s+\d+\s+(\S+)\s+(\S+)\s+(.*)$/s;

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
export function createDnsxParser({ observedAt, limits }: AnswerOptions): FormatParser {
  return (text, now) => {
    const line = parseJsonLine(text);
    const { hosts_file, host, timestamp, all, status_code: status } = line;
    if (hosts_file === true) {
      throw new InvalidObservationError(
        'hosts_file: the addresses are from a file of the machine, not from DNS.',
      );
    }
    const domain = readAt('host', () => parseDomainName(requireText(host)));
    const time = parseTimeOfLine('timestamp', timestamp, now, observedAt);
    const records =
      all === undefined ? unambiguous(line, domain) : readAt('all', () => listIn(all)).flatMap(recordOf);
    const answers = { domain, observedAt: time, source: 'dnsx', types: null, records };
    const shown = status === undefined ? '' : ` (status ${shownValue(status)})`;
    return lineOfAnswers([answers], limits, {
      remarks: all === undefined && isOmitting(line) ? [OMITTED] : [],
      otherwise: `the line has no records of ${quoted(domain)}${shown}, and does not tell which types were queried`,
    });
  };
}

function listIn(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new InvalidObservationError('it is not a list.');
}

/** From a line of a master file; what begins with `;` tells of the message. */
function recordOf(line: unknown): AnswerRecord[] {
  const text = typeof line === 'string' ? line : '';
  if (/^\s*;/.test(text)) return [];
  const [, host, dnsClass, type = '', data] = RECORD.exec(text) ?? [];
  if (host === undefined)
    return [unread('', `${shownValue(line)} is not a record in the form of a master file.`)];
  return [{ host, class: dnsClass, type, fields: () => ({ data }) }];
}

/** A record that cannot be read. */
function unread(type: string, reason: string): AnswerRecord {
  const fields = () => {
    throw new InvalidObservationError(reason);
  };
  return { host: undefined, type, fields };
}

/** Of another name, such are the servers to be queried instead: who has these NS records is not told. */
const ROOT_SERVER = /^[a-m]\.root-servers\.net\.?$/i;

/** What dnsx does not write in whole. */
const PARTIAL = ['mx', 'srv', 'caa'];

/** The arrays by their types. Behind an alias the addresses are of its target. */
function unambiguous(line: Json, domain: string): AnswerRecord[] {
  const servers = textsOf(line['ns']);
  if (domain !== 'root-servers.net' && servers.some((server) => ROOT_SERVER.test(server))) {
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
