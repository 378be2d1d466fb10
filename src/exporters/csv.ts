import type { StoredHistory } from '../history/stored-history.js';
import { formatInstant, type Instant } from '../model/instant.js';
import { type ExportFormat, type Omit, presentStays, selectedPeriods } from './export-format.js';
import type { Selection } from './selection.js';

const COLUMNS = [
  ...['domain', 'kind', 'name', 'class', 'type', 'value'],
  ...['first_seen', 'last_seen', 'removed', 'source'],
] as const;

type Row = Readonly<Record<(typeof COLUMNS)[number], string>>;

/** CSV as RFC 4180 has it, in UTF-8: a row for each stay of a record, and for each time in which a header had a value. */
export const CSV: ExportFormat = { head: `${COLUMNS.join(',')}\r\n`, linesOf: exportCsv };

function* exportCsv(history: StoredHistory, selection: Selection, omit: Omit): Generator<string> {
  const domain = history.name;
  for (const { record, rdata, ...stay } of presentStays(history, selection, omit)) {
    const { host: name, class: recordClass, type } = record;
    yield lineOf({ domain, kind: 'DNS', name, class: recordClass, type, value: rdata, ...timesOf(stay) });
  }
  for (const { name, value, ...period } of selectedPeriods(history, selection)) {
    yield lineOf({ domain, kind: 'HTTP', name, class: '', type: '', value, ...timesOf(period) });
  }
}

interface Times {
  readonly firstSeen: Instant;
  readonly lastSeen: Instant | null;
  readonly removed: Instant | null;
  readonly source: string | null;
}

function timesOf({ firstSeen, lastSeen, removed, source }: Times) {
  return {
    first_seen: formatInstant(firstSeen),
    last_seen: lastSeen === null ? '' : formatInstant(lastSeen),
    removed: removed === null ? '' : formatInstant(removed),
    source: source ?? '',
  };
}

function lineOf(row: Row): string {
  return `${COLUMNS.map((column) => cell(row[column])).join(',')}\r\n`;
}

/** RFC 4180, section 2: quotes around a value that needs them, and inner ones twice. */
function cell(value: string): string {
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}
