import { parseDomainName } from '../model/domain-name.js';
import { invalidValue } from '../model/errors.js';
import { isJsonObject, readAt, requireText } from '../model/json-values.js';
import { fieldOctets } from '../model/master-text.js';
import { quoted } from '../model/text.js';
import * as dns from './dns-answers.js';
import { type FormatParser, type Json, parseJsonLine } from './json-line.js';

const OMITTED = {
  text:
    'With -omit-raw, dnsx does not write all of the data of MX, SRV and CAA records, nor of whom the records ' +
    'behind an alias are: these types were not observed. Run it without -omit-raw.',
};

/**
 * Lines of dnsx `-json`, version 1.2. The types that were queried are not in a line: those of which it has
 * records were observed, others were not.
 */
export function createDnsxParser(options: dns.AnswerOptions): FormatParser {
  return (text, now) => {
    const line = parseJsonLine(text);
    const { hosts_file, host, timestamp, all, status_code: status } = line;
    if (hosts_file === true)
      throw invalidValue('hosts_file: the addresses are from a file of the machine, not from DNS.');
    const domain = readAt('host', () => parseDomainName(requireText(host)));
    const observedAt = dns.parseTime('timestamp', timestamp, now, options);
    const records = all === undefined ? recordsOfArrays(line, domain) : readAt('all', () => recordsIn(all));
    const answers = { domain, observedAt, source: 'dnsx', types: null, records };
    const remarks = all === undefined && isOmitting(line) ? [OMITTED] : [];
    const shown = status === undefined ? '' : ` (status ${dns.shownValue(status)})`;
    const none = `no records of ${quoted(domain)}${shown}, and the line does not tell which types were queried`;
    return dns.lineOfAnswers([answers], options, remarks, new Map(), none);
  };
}

const RECORD = /^(\S+)\s+\d+\s+(\S+)\s+(\S+)\s+(.*)$/s;

/** From lines of a master file; what begins with `;` tells of the message. */
function recordsIn(all: unknown): dns.AnswerRecord[] {
  if (!Array.isArray(all)) throw invalidValue('it is not a list.');
  return all.flatMap((line: unknown) => {
    const text = typeof line === 'string' ? line : '';
    if (/^\s*;/.test(text)) return [];
    const [, host, dnsClass, type = '', data] = RECORD.exec(text) ?? [];
    if (host !== undefined) return [{ host, class: dnsClass, type, fields: () => ({ data }) }];
    return [unread('', `${dns.shownValue(line)} is not a record in the form of a master file.`)];
  });
}

function unread(type: string, reason: string): dns.AnswerRecord {
  const fields = () => {
    throw invalidValue(reason);
  };
  return { host: undefined, type, fields };
}

/** Of any other name, these are the servers to be queried instead. */
const ROOT_SERVER = /^[a-m]\.root-servers\.net\.?$/i;
const NOT_OWN = 'the name servers may be those of the zone whose SOA record is beside them.';

/** The records of -omit-raw, in arrays by type. Behind an alias the addresses are of its target. */
function recordsOfArrays(line: Json, domain: string): dns.AnswerRecord[] {
  const recordsOf = (key: string, fieldsOf = (data: string): Json => ({ data })) =>
    itemsOf(line[key]).map((item) => ({
      host: domain,
      type: key.toUpperCase(),
      fields: () => fieldsOf(dns.textOf(key, item)),
    }));
  const servers = itemsOf(line['ns']);
  const isOfRoot = servers.some((name) => typeof name === 'string' && ROOT_SERVER.test(name));
  if (isOfRoot && domain !== 'root-servers.net')
    throw invalidValue('nothing was observed: the response is a referral to the name servers of the root.');
  const aliases = recordsOf('cname');
  // The status is that of the last name (RFC 6604, section 3).
  if (aliases.length > 0) return aliases.length === 1 ? aliases : [];
  if (line['status_code'] === 'NXDOMAIN') return [];
  const authorities = itemsOf(line['soa']).map(startOfAuthority);
  const isOfOther = authorities.some((record) => record.host === undefined || !dns.isOf(domain, record));
  return [
    ...['a', 'aaaa', 'ptr'].flatMap((key) => recordsOf(key)),
    ...(isOfOther && servers.length > 0 ? [unread('NS', NOT_OWN)] : recordsOf('ns')),
    ...recordsOf('txt', (text) => dns.joinedText(fieldOctets(text))),
    ...authorities,
  ];
}

function isOmitting(line: Json): boolean {
  const isAlias = itemsOf(line['cname']).some((name) => typeof name === 'string');
  const lost = ['mx', 'srv', 'caa', ...(isAlias ? ['a', 'aaaa', 'ns', 'ptr', 'txt'] : [])];
  return lost.some((key) => key in line);
}

/** Its empty values and zeros are left out. Old versions write two names, without the owner and the numbers. */
function startOfAuthority(item: unknown): dns.AnswerRecord {
  if (!isJsonObject(item)) return unread('SOA', `soa: ${dns.shownValue(item)} is not a whole record.`);
  const { name, ns, mailbox, serial, refresh, retry, expire, minttl } = item;
  const given = { mname: ns, rname: mailbox, serial, refresh, retry, expire, 'minimum-ttl': minttl };
  const whole = Object.entries(given).map(([key, value]) => [key, value ?? (key.endsWith('name') ? '.' : 0)]);
  return { host: name ?? '.', type: 'SOA', fields: () => Object.fromEntries(whole) };
}

function itemsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value ?? []].flat();
}
