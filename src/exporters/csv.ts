import type { KnownStay } from '../history/stays-as-of.js';
import { type CsvRow, csvHead, csvLine, STAY_COLUMNS } from '../model/csv.js';
import { formatInstant } from '../model/instant.js';
import { type ExportFormat, presentStays, selectedPeriods } from './export-format.js';

/** RFC 4180, in UTF-8: a row for each stay of a record, and for each time in which a header had a value. */
export const CSV: ExportFormat = {
  head: csvHead(STAY_COLUMNS),
  *linesOf(history, selection, omit) {
    const domain = history.name;
    for (const stay of presentStays(history, selection, omit)) {
      const { host: name, class: recordClass, type } = stay.record;
      yield lineOf({ domain, kind: 'DNS', name, class: recordClass, type, value: stay.rdata }, stay);
    }
    for (const period of selectedPeriods(history, selection))
      yield lineOf({ domain, kind: 'HTTP', name: period.name, value: period.value }, period);
  },
};

function lineOf(row: CsvRow, { firstSeen, lastSeen, removed, source }: Omit<KnownStay, 'record'>): string {
  return csvLine(STAY_COLUMNS, {
    ...row,
    first_seen: formatInstant(firstSeen),
    last_seen: formatInstant(lastSeen),
    removed: removed === null ? null : formatInstant(removed),
    source,
  });
}
