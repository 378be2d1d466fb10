import { exportDms } from '../../src/exporters/dms.js';
import type { ExportFormat, Omission } from '../../src/exporters/export-format.js';
import { mergeChanges } from '../../src/history/diff.js';
import { extendHistory } from '../../src/history/extend-history.js';
import { recordObservations } from '../../src/history/record-observations.js';
import { holdNothing } from '../../src/history/state.js';
import type { StoredHistory } from '../../src/history/stored-history.js';
import { parseDmsLine } from '../../src/importers/dms.js';
import { compareDnsRecords } from '../../src/model/dns-record.js';
import { compareInstants, type Instant } from '../../src/model/instant.js';
import type { Observation } from '../../src/model/observation.js';
import { compareUtf8 } from '../../src/model/utf8-order.js';
import { NOW } from './observations.js';

/** What would be stored after observations of a domain of which nothing was recorded. */
export function historyOf(observations: readonly Observation[]): StoredHistory {
  const { state, changes, firsts } = recordObservations(null, holdNothing(), observations);
  const [first] = observations;
  if (state === null || first === undefined) throw new Error('no observation was recorded');
  const { added, headers, responses, earlier } = mergeChanges(changes);
  return {
    name: first.domain,
    version: 1n,
    recordedAt: NOW,
    state,
    responses,
    earlier: [...earlier].sort((a, b) => compareUtf8(a.type, b.type) || compareUtf8(a.name, b.name)),
    ...(firsts.size > 0 && { keptTimes: firsts }),
    stays: [...added].sort(
      (a, b) => compareInstants(a.firstSeen, b.firstSeen) || compareDnsRecords(a.record, b.record),
    ),
    headers: [...headers].sort(
      (a, b) => compareUtf8(a.name, b.name) || compareInstants(a.observedAt, b.observedAt),
    ),
  };
}

/** With observations put where their times belong. */
export function extended(
  history: StoredHistory | null,
  observations: readonly Observation[],
  older: boolean,
): StoredHistory {
  const {
    outcomes: _,
    later: _later,
    extendedFrom: _from,
    ...extension
  } = extendHistory(history, observations, { older });
  return { version: 2n, recordedAt: 0n, ...extension };
}

export function exported(history: StoredHistory): Observation[] {
  return Array.from(exportDms(history), (line) => parseDmsLine(line, NOW));
}

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
