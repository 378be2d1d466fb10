import type { ExportFormat, Omission } from '../../src/exporters/export-format.js';
import type { StoredHistory } from '../../src/history/stored-history.js';
import type { Instant } from '../../src/model/instant.js';

/** What a format makes of a history, and how much of it is left out for which reason. */
export function exportHistory(
  { linesOf }: ExportFormat,
  history: StoredHistory,
  at?: Instant,
): { readonly lines: readonly string[]; readonly omitted: Readonly<Partial<Record<Omission, number>>> } {
  const omitted: Partial<Record<Omission, number>> = {};
  const lines = [
    ...linesOf(history, { at }, (reason, count = 1) => {
      if (count > 0) omitted[reason] = (omitted[reason] ?? 0) + count;
    }),
  ];
  return { lines, omitted };
}
