import type { StoredHistory } from '../history/stored-history.js';
import { typeNumber } from '../model/dns-types.js';
import { domainOfOwner } from '../model/domain-name.js';
import type { Instant } from '../model/instant.js';
import {
  countHeaders,
  type ExportFormat,
  type Omit,
  type PresentedStay,
  presentStays,
  type Selection,
} from './export-format.js';

/** Passive DNS, Common Output Format (draft-dulaunoy-dnsop-passive-dns-cof): DNS records of class IN. */
export const COF: ExportFormat = { head: '', linesOf: exportCof };

function* exportCof(history: StoredHistory, selection: Selection, omit: Omit): Generator<string> {
  for (const stay of presentStays(history, selection, omit)) {
    if (stay.record.class === 'IN') yield `${JSON.stringify(objectOf(stay, history.name))}\n`;
    else omit('class');
  }
  omit('header', countHeaders(history, selection));
}

function objectOf({ record, rdata, firstSeen, lastSeen, source }: PresentedStay, domain: string): object {
  return {
    // Without a final dot, as in the draft's examples.
    rrname: record.host,
    rrtype: typeOf(record.type),
    // "Senders SHOULD send an array for rdata".
    rdata: [rdata],
    time_first: unixTime(firstSeen, SECOND),
    time_last: unixTime(lastSeen, SECOND),
    time_first_ms: unixTime(firstSeen, MILLISECOND),
    time_last_ms: unixTime(lastSeen, MILLISECOND),
    ...(source === null ? {} : { sensor_id: source }),
    // For who imports it: the name does not tell.
    ...(domainOfOwner(record.host) === null && { dms_domain: domain }),
  };
}

/** "If the value cannot be interpreted, the decimal value is returned". */
function typeOf(type: string): string | number {
  return (type.startsWith('TYPE') && typeNumber(type)) || type;
}

/** In microseconds. */
const SECOND = 1_000_000n;
const MILLISECOND = 1_000n;

/** How many units have passed since 1970, also before: BigInt division would cut towards it. */
function unixTime(time: Instant, unit: bigint): number {
  const cut = time / unit;
  return Number(cut * unit > time ? cut - 1n : cut);
}
