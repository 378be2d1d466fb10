import { type Moment, momentsOf } from '../history/moments.js';
import { isKnown } from '../history/stays-as-of.js';
import type { StoredHistory } from '../history/stored-history.js';
import { dnsRecordData } from '../model/dns-record.js';
import { canonicalType } from '../model/dns-types.js';
import { formatInstant, type Instant } from '../model/instant.js';
import { type ExportFormat, isReadable, type Omit } from './export-format.js';

export const DMS: ExportFormat = { head: '', linesOf: exportDms };

/**
 * A domain's history as lines of format `dms`, each with its line feed: recorded elsewhere, they give
 * the same history; with an instant, the history that was known then.
 */
export function* exportDms(history: StoredHistory, at?: Instant, omit: Omit = () => {}): Generator<string> {
  for (const moment of momentsOf(readableHistory(history, at, omit))) {
    // In the order of time: no later one is known then, neither what it changed nor that it was.
    if (!isKnown(moment.observedAt, at)) return;
    yield `${JSON.stringify(observationOf(history.name, moment))}\n`;
  }
}

/** A history without the records that no import takes. */
function readableHistory(history: StoredHistory, at: Instant | undefined, omit: Omit): StoredHistory {
  const types = new Map([...history.state.types].filter(([type]) => canonicalType(type) === type));
  const stays = history.stays.filter(({ record, firstSeen }) => {
    if (isReadable(record)) return true;
    if (isKnown(firstSeen, at)) omit('unreadable');
    return false;
  });
  return { ...history, state: { ...history.state, types }, stays };
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
