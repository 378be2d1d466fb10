import type { KnownStay } from '../history/stays-as-of.js';
import type { StoredHistory } from '../history/stored-history.js';
import { type CsvRow, csvHead, csvLine, STAY_COLUMNS } from '../model/csv.js';
import { formatInstant } from '../model/instant.js';
import {
  type ExportFormat,
  type Omit,
  presentStays,
  type Selection,
  selectedPeriods,
} from './export-format.js';

/** CSV as RFC 4180 has it, in UTF-8: a row for each stay of a record, and for each time in which a header had a value. */
export const CSV: ExportFormat = { head: csvHead(STAY_COLUMNS), linesOf: exportCsv };

function* exportCsv(history: StoredHistory, selection: Selection, omit: Omit): Generator<string> {
  const domain = history.name;
  for (const { record, rdata, ...stay } of presentStays(history, selection, omit)) {
    const { host: name, class: recordClass, type } = record;
    yield csvLine(STAY_COLUMNS, {
      ...{ domain, kind: 'DNS', name, class: recordClass, type, value: rdata },
      ...timesOf(stay),
    });
  }
  for (const { name, value, ...period } of selectedPeriods(history, selection)) {
    yield csvLine(STAY_COLUMNS, { domain, kind: 'HTTP', name, value, ...timesOf(period) });
  }
}

type Times = Pick<KnownStay, 'firstSeen' | 'lastSeen' | 'removed' | 'source'>;

function timesOf({ firstSeen, lastSeen, removed, source }: Times): CsvRow {
  return {
    first_seen: formatInstant(firstSeen),
    last_seen: formatInstant(lastSeen),
    removed: removed === null ? null : formatInstant(removed),
    source,
  };
}
