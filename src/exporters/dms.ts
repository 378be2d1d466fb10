import { type Moment, momentsOf } from '../history/moments.js';
import type { StoredHistory } from '../history/stored-history.js';
import { dnsRecordData } from '../model/dns-record.js';
import { formatInstant } from '../model/instant.js';

/**
 * A domain's history as lines of format `dms`, each with its line feed: recorded elsewhere, they give
 * the same history.
 */
export function* exportDms(history: StoredHistory): Generator<string> {
  for (const moment of momentsOf(history)) {
    yield `${JSON.stringify(observationOf(history.name, moment))}\n`;
  }
}

function observationOf(domain: string, { observedAt, stays, types, headers, source }: Moment): object {
  return {
    domain,
    observedAt: formatInstant(observedAt),
    ...(stays === null ? {} : { dnsRecords: stays.map(({ record }) => dnsRecordData(record)) }),
    ...(types === null ? {} : { dnsTypes: types }),
    ...(headers === null ? {} : { httpHeaders: Object.fromEntries(headers) }),
    ...(source === null ? {} : { source }),
  };
}
