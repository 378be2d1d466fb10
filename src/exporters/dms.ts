import { type Moment, momentsOf } from '../history/moments.js';
import type { StoredHistory } from '../history/stored-history.js';
import { dnsRecordData, hasRdataText, isCanonicalRecord } from '../model/dns-record.js';
import { canonicalType } from '../model/dns-types.js';
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

/**
 * A history without the records that no import takes: earlier versions recorded any text as the data of a
 * type without fields of its own, and any word as a type.
 */
export function readableHistory(history: StoredHistory): { history: StoredHistory; leftOut: number } {
  const types = new Map([...history.state.types].filter(([type]) => canonicalType(type) === type));
  const stays = history.stays.filter(({ record }) => !hasRdataText(record) || isCanonicalRecord(record));
  const state = { ...history.state, types };
  return { history: { ...history, state, stays }, leftOut: history.stays.length - stays.length };
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
