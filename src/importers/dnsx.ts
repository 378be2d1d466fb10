import { canonicalType } from '../model/dns-types.js';
import { parseDomainName } from '../model/domain-name.js';
import { InvalidObservationError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';
import { readAt, requireText, requireTexts } from '../model/json-values.js';
import { fieldOctets } from '../model/master-text.js';
import { quoted } from '../model/text.js';
import {
  type AnswerRecord,
  isOf,
  type Json,
  objectsIn,
  observationOfAnswers,
  PROOFS,
  shownValue,
  textOf,
  textRdata,
} from './dns-answers.js';
import type { ParsedLine } from './import-lines.js';
import { parseJsonLine, parseTimeOfLine } from './json-line.js';

/** Owner name, TTL, class, type, and rdata. */
const RECORD = /^(\S+)\s+(\d+)\s+(\S+)\s+(\S+)\s+(.*)$/s;

const OMITTED =
  'With -omit-raw, dnsx does not write all of the data of MX, SRV and CAA records, nor of whom the records behind an alias are: ' +
  'these types were not observed. Run it without -omit-raw.';

/**
 * Makes what parses the lines that dnsx of ProjectDiscovery writes with `-json`, version 1.2: the DNS records of a name.
 *
 * The types that were queried are not in a line: those of which it has records were observed, others were not.
 *
 * @param observedAt The time of lines without one.
 */
export function createDnsxParser(
  observedAt: Instant | undefined,
): (line: string, now: Instant) => ParsedLine {
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
    const found = isWhole
      ? readAt('all', () => recordsOf(isEmpty(line['all']) ? [] : requireTexts(line['all'])))
      : unambiguous(line, domain);
    const own = found.filter((record) => !PROOFS.has(record.type) && isOf(domain, record));
    const types = new Set(own.flatMap(({ type }) => canonicalType(type) ?? []));
    if (types.size === 0) {
      const status = line['status_code'] === undefined ? '' : ` (status ${shownValue(line['status_code'])})`;
      throw new InvalidObservationError(
        `nothing was observed: the line has no records of ${quoted(domain)}${status}, and does not tell which types were queried.`,
      );
    }
    const answers = { domain, observedAt: time, source: 'dnsx', types, records: own };
    return {
      observations: [observationOfAnswers(answers)],
      remarks: isWhole || !isOmitting(line) ? [] : [OMITTED],
    };
  };
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** From lines of a master file; what begins with `;` tells of the message. */
function recordsOf(lines: readonly string[]): AnswerRecord[] {
  return lines.flatMap((line) => {
    if (/^\s*;/.test(line)) return [];
    const [, host, , dnsClass, type, data] = RECORD.exec(line) ?? [];
    if (host === undefined || type === undefined) {
      throw new InvalidObservationError(`${quoted(line)} is not a record in the form of a master file.`);
    }
    return [{ host, class: dnsClass, type, data }];
  });
}

/** What dnsx does not write in whole. */
const PARTIAL = ['mx', 'srv', 'caa'];

/** The arrays by their types. Behind an alias the addresses are of its target. */
function unambiguous(line: Json, domain: string): AnswerRecord[] {
  if (line['status_code'] === 'NXDOMAIN') return [];
  const aliases = textsOf(line['cname']);
  const host = domain;
  if (aliases.length > 0) {
    return aliases.length === 1 ? [{ host, type: 'CNAME', target: aliases[0] }] : [];
  }
  const authorities = readAt('soa', () => objectsIn(line['soa']).map(startOfAuthority));
  return [
    ...textsOf(line['a']).map((ip) => ({ host, type: 'A', ip })),
    ...textsOf(line['aaaa']).map((ipv6) => ({ host, type: 'AAAA', ipv6 })),
    ...(isBesideOther(authorities, domain) ? [] : textsOf(line['ns'])).map((target) => ({
      host,
      type: 'NS',
      target,
    })),
    ...textsOf(line['ptr']).map((target) => ({ host, type: 'PTR', target })),
    ...textsOf(line['txt']).map((text) => ({ host, type: 'TXT', data: textRdata(fieldOctets(text)) })),
    ...authorities,
  ];
}

/** The name servers are those of the zone whose SOA comes beside them. */
function isBesideOther(authorities: readonly AnswerRecord[], domain: string): boolean {
  return authorities.some((record) => !isOf(domain, record));
}

function isOmitting(line: Json): boolean {
  const isBehindAlias =
    textsOf(line['cname']).length > 0 && ['a', 'aaaa', 'ns', 'ptr', 'txt'].some((key) => key in line);
  return isBehindAlias || PARTIAL.some((key) => key in line);
}

/** Its empty values and zeros are left out. */
function startOfAuthority({ name, ns, mailbox, serial, refresh, retry, expire, minttl }: Json): AnswerRecord {
  const numbers = { serial, refresh, retry, expire, 'minimum-ttl': minttl };
  const complete = Object.fromEntries(Object.entries(numbers).map(([key, number]) => [key, number ?? 0]));
  return {
    host: textOf('name', name ?? '.'),
    type: 'SOA',
    mname: ns ?? '.',
    rname: mailbox ?? '.',
    ...complete,
  };
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}
