import type { ImportFormat } from '../../importers/import-format.js';
import type { ImportSummary } from '../../importers/import-summary.js';
import { counted, createTable, jsonLine, numberText as number } from '../output.js';

interface ImportReport {
  readonly summary: ImportSummary;
  readonly seconds: number;
  /** Sorted. */
  readonly formats: readonly ImportFormat[];
  readonly rejects?: string | undefined;
}

export function summaryText({ summary, seconds, formats }: ImportReport): string {
  const { linesRead, recordsAdded, recordsRemoved, headersCreated, headersUpdated } = summary;
  const { count, exact } = summary.domains;
  const rate = counted(Math.round(linesRead / Math.max(seconds, 0.001)), 'line', 'lines');
  return createTable()([
    ...(formats.every((name) => name === 'dms') ? [] : [['format', formats.join(', ')]]),
    ['lines read', `${number(linesRead)} in ${seconds.toFixed(1)} s, ${rate}/s`],
    ['recorded', `${number(summary.recorded)} (${number(summary.changed)} with a change)`],
    ['unchanged', number(summary.unchanged)],
    ['already known', number(summary.repeated)],
    ['stale', number(summary.stale)],
    ['rejected', number(summary.linesRejected)],
    ['domains', `${exact ? '' : 'more than '}${number(count)} (${number(summary.newDomains)} new)`],
    ['DNS records', `${number(recordsAdded)} added, ${number(recordsRemoved)} removed`],
    ['HTTP headers', `${number(headersCreated)} created, ${number(headersUpdated)} updated`],
  ]);
}

export function summaryJson({ summary, seconds, formats }: ImportReport): string {
  return jsonLine({
    formats,
    seconds: Number(seconds.toFixed(3)),
    linesRead: summary.linesRead,
    recorded: summary.recorded,
    changed: summary.changed,
    unchanged: summary.unchanged,
    alreadyKnown: summary.repeated,
    contradicting: summary.contradicting,
    stale: summary.stale,
    older: summary.older,
    lost: summary.lost,
    partial: summary.partial,
    rejected: summary.linesRejected,
    domains: summary.domains.count,
    domainsExact: summary.domains.exact,
    newDomains: summary.newDomains,
    dnsRecordsAdded: summary.recordsAdded,
    dnsRecordsRemoved: summary.recordsRemoved,
    httpHeadersCreated: summary.headersCreated,
    httpHeadersUpdated: summary.headersUpdated,
    remarks: Array.from(summary.remarks, ([remark, told]) => ({ remark, ...told })),
  });
}

/** What the lines could not tell, and what can be done about rejected and stale ones. */
export function remarksText({ summary, formats, rejects }: ImportReport): string {
  const keep =
    rejects === undefined
      ? 'To keep such lines for correction, import again with --rejects FILE.'
      : `They are in ${rejects}: correct them there and import that file.`;
  const again = summary.lostBetween === 0 ? 'Import' : 'Erase these domains (dms forget DOMAIN…) and import';
  const told = summary.remarks.map(([remark, { lines, example }]) => {
    return [example === undefined ? remark : `${remark} For example, ${example}`, lines] as const;
  });
  const counts = {
    [`rejected. ${keep} A corrected line is stale if something newer of its domain is recorded by then.`]:
      summary.linesRejected,
    'stale, as is expected when a file is imported again. Import the files of several tools with one command, and --backfill: what lies between two observations is stale later.':
      summary.staleAgain,
    'recorded in part: of some types of DNS record, or of the HTTP headers, something newer is recorded.':
      summary.partial,
    'older than all that is recorded of a part of the domain. dms import --backfill FILE… puts them before it: import all older files with one command, since lines between two observations cannot be added later.':
      summary.older,
    [`lost: of domains that were not recorded before, in the wrong order. ${again} all the files again with one command, and --backfill.`]:
      summary.lost,
  };
  const remarks = [...told, ...Object.entries(counts)]
    .filter(([, lines]) => lines > 0)
    .map(([text, lines]) => `${counted(lines, 'line')}: ${text}\n`);
  // Of domains that were recorded before it was said before, or their observations are there already.
  if (formats.includes('cof') && summary.newDomains > 0) {
    remarks.push(
      'Import passive DNS after all observations of the same domains: older files of other formats that are imported ' +
        'later can give another history than before it.\n',
    );
  }
  return remarks.join('');
}

export function warningText({ contradicting }: ImportSummary): string {
  if (contradicting === 0) return '';
  const lines = counted(contradicting, 'line differs', 'lines differ');
  return `Warning: ${lines} from what is recorded of the same domain at the same time, where the first observation stays.\n`;
}
