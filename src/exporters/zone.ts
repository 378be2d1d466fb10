import { compareDnsRecords, type DnsRecord } from '../model/dns-record.js';
import { typeNumber } from '../model/dns-types.js';
import { ancestorsOf } from '../model/host-name.js';
import { formatInstant } from '../model/instant.js';
import { MasterText } from '../model/master-text.js';
import { absoluteName } from '../model/rdata-codec.js';
import { genericText, rdataOctets } from '../model/rdata-text.js';
import { compareUtf8 } from '../model/utf8-order.js';
import { type ExportFormat, omitHeaders, type PresentedStay, presentStays } from './export-format.js';

const HEAD = `; Records as they were observed. TTLs are not recorded: all have the same.
$TTL 3600
`;

/** Master files (RFC 1035, section 5): the records of class IN that are present, domain by domain. */
export const ZONE: ExportFormat = {
  head: HEAD,
  *linesOf(history, selection, omit) {
    const { name, state } = history;
    yield `\n; domain ${name}, as of ${formatInstant(selection.at ?? state.lastUpdate)}\n`;
    const [ofZone, others]: [PresentedStay[], PresentedStay[]] = [[], []];
    const stays = [...presentStays(history, { ...selection, present: true }, omit)];
    const hasStart = stays.some(({ record }) => isStart(record, name));
    for (const stay of stays) {
      const { host, class: recordClass, type } = stay.record;
      // RFC 4035, section 2.4: the DS records of a zone are in the zone above.
      const isAbove = hasStart && type === 'DS' && host === name;
      const isIn = !isAbove && (host === name || ancestorsOf(host).includes(name));
      if (recordClass === 'IN') (isIn ? ofZone : others).push(stay);
      else omit('class');
    }
    ofZone.sort((one, other) => comparePlaces(one.record, other.record, name));
    if (!hasStart) yield '; no SOA record of it is known: name servers do not load a zone without one\n';
    for (const stay of ofZone) yield `${lineOf(stay)}\n`;
    // Name servers reject a zone that has them.
    for (const stay of others) yield `; of another zone: ${lineOf(stay)}\n`;
    omitHeaders(history, selection, omit);
  },
};

/** RFC 1035, section 5.2: the zone begins with its SOA record. The records of the domain itself follow. */
function comparePlaces(one: DnsRecord, other: DnsRecord, domain: string): number {
  return (
    Number(isStart(other, domain)) - Number(isStart(one, domain)) ||
    Number(one.host !== domain) - Number(other.host !== domain) ||
    compareUtf8(one.host, other.host) ||
    compareDnsRecords(one, other)
  );
}

function isStart({ host, class: recordClass, type }: DnsRecord, domain: string): boolean {
  return type === 'SOA' && host === domain && recordClass === 'IN';
}

/** Types that BIND 9.18 or NSD 4.6 does not read by their names. */
const RARE_TYPES: ReadonlySet<string> = new Set(
  'AMTRELAY BRID DSYNC HHIT KEY NINFO NSAP-PTR RESINFO RKEY TA TALINK WALLET'.split(' '),
);

/** Rare types and unknown data are in the form that all name servers read (RFC 3597, section 5). */
function lineOf({ record: { host, type }, rdata }: PresentedStay): string {
  const fields = new MasterText(rdata);
  const isGeneric = fields.isGeneric || RARE_TYPES.has(type);
  const shownType = isGeneric ? `TYPE${typeNumber(type)}` : type;
  const shownData = isGeneric ? genericText(rdataOctets(type, fields)) : rdata;
  return [absoluteName(host), 'IN', shownType, shownData].join('\t');
}
