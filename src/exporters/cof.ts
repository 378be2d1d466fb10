import { typeNumber } from '../model/dns-types.js';
import { domainOfOwner } from '../model/domain-name.js';
import type { Instant } from '../model/instant.js';
import { type ExportFormat, omitHeaders, type PresentedStay, presentStays } from './export-format.js';

/** Passive DNS, Common Output Format (draft-dulaunoy-dnsop-passive-dns-cof): DNS records of class IN. */
export const COF: ExportFormat = {
  head: '',
  *linesOf(history, selection, omit) {
    for (const stay of presentStays(history, selection, omit)) {
      if (stay.record.class === 'IN') yield `${JSON.stringify(toObject(stay, history.name))}\n`;
      else omit('class');
    }
    omitHeaders(history, selection, omit);
  },
};

function toObject({ record, rdata, firstSeen, lastSeen, source }: PresentedStay, domain: string): object {
  const { host, type } = record;
  const [first, last] = [milliseconds(firstSeen), milliseconds(lastSeen)];
  return {
    // Without a final dot, as in the draft's examples.
    rrname: host,
    // "If the value cannot be interpreted, the decimal value is returned".
    rrtype: (type.startsWith('TYPE') && typeNumber(type)) || type,
    // "Senders SHOULD send an array for rdata".
    rdata: [rdata],
    time_first: Math.floor(first / 1000),
    time_last: Math.floor(last / 1000),
    time_first_ms: first,
    time_last_ms: last,
    sensor_id: source ?? undefined,
    // For who imports it: the name does not tell.
    dms_domain: domainOfOwner(host) === null ? domain : undefined,
  };
}

/** Since 1970. BigInt division cuts towards it, also of times before. */
function milliseconds(time: Instant): number {
  return Number(time / 1000n) - Number(time % 1000n < 0n);
}
