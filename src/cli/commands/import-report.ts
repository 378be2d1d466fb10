import type { ImportFormat } from '../../importers/formats.js';
import type { ImportSummary } from '../../importers/import-summary.js';
import { counted, jsonLine, numberText } from '../output.js';

/** How many rejected lines are shown with their reasons. */
export const REASONS_SHOWN = 10;

/** How many lines were rejected, and what can be done about them. @param file That of --rejects; undefined without. */
export function rejectedText({ linesRejected }: ImportSummary, file: string | undefined): string {
  if (linesRejected === 0) return '';
  const further = linesRejected - REASONS_SHOWN;
  const more = further > 0 ? `… and ${counted(further, 'more line', 'more lines')} rejected.\n` : '';
  const where =
    file === undefined
      ? 'To keep rejected lines for correction, import again with --rejects FILE.'
      : `The rejected lines are in ${file}: correct them there and import that file.`;
  return `${more}${where} A corrected line is stale if something newer of its domain is recorded by then.\n`;
}

/**
 * The closing summary of an import, as lines of text.
 *
 * @param formats those of the inputs; shown if one is not the program's own.
 */
export function summaryText(
  summary: ImportSummary,
  seconds: number,
  formats: ReadonlySet<ImportFormat>,
): string {
  const { linesRead, newDomains } = summary;
  const { count, exact } = summary.domains;
  const names = [...formats].sort();
  const rate = Math.round(linesRead / Math.max(seconds, 0.001));
  const rows: [string, string][] = [
    ...(names.some((name) => name !== 'dms') ? [['format', names.join(', ')] as [string, string]] : []),
    ['lines read', `${numberText(linesRead)} in ${duration(seconds)}, ${counted(rate, 'line', 'lines')}/s`],
    ['recorded', `${numberText(summary.recorded)} (${numberText(summary.changed)} with a change)`],
    ['unchanged', numberText(summary.unchanged)],
    ['already known', numberText(summary.repeated)],
    ['stale', numberText(summary.stale)],
    ['rejected', numberText(summary.linesRejected)],
    ['domains', `${exact ? '' : 'more than '}${numberText(count)} (${numberText(newDomains)} new)`],
    [
      'DNS records',
      `${numberText(summary.recordsAdded)} added, ${numberText(summary.recordsRemoved)} removed`,
    ],
    [
      'HTTP headers',
      `${numberText(summary.headersCreated)} created, ${numberText(summary.headersUpdated)} updated`,
    ],
  ];
  return rows.map(([label, text]) => `${label.padEnd(14)}${text}\n`).join('');
}

/** The closing summary as a JSON object on one line. */
export function summaryJson(
  summary: ImportSummary,
  seconds: number,
  formats: ReadonlySet<ImportFormat>,
): string {
  const { count, exact } = summary.domains;
  return jsonLine({
    formats: [...formats].sort(),
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
    domains: count,
    domainsExact: exact,
    newDomains: summary.newDomains,
    dnsRecordsAdded: summary.recordsAdded,
    dnsRecordsRemoved: summary.recordsRemoved,
    httpHeadersCreated: summary.headersCreated,
    httpHeadersUpdated: summary.headersUpdated,
    remarks: Array.from(summary.remarks, ([remark, told]) => ({ remark, ...told })),
  });
}

/** What the lines could not tell, and what can be done about stale ones, as lines of text. @param formats Those of the inputs. */
export function remarksText(summary: ImportSummary, formats: ReadonlySet<ImportFormat>): string {
  const { staleAgain, older, lost, lostBetween, partial, remarks: untold } = summary;
  const remarks = Array.from(untold, ([remark, { lines, example }]) => {
    const told = example === undefined ? '' : ` For example, ${example}`;
    return `${counted(lines, 'line', 'lines')}: ${remark}${told}`;
  });
  if (staleAgain > 0) {
    remarks.push(
      `${counted(staleAgain, 'stale line was', 'stale lines were')} older than what is recorded of the same part ` +
        'of a domain, and changed nothing. This is expected when a file is imported again. Import the files of several tools ' +
        'with one command, and --backfill: what lies between two observations is stale later.',
    );
  }
  if (partial > 0) {
    remarks.push(
      `${counted(partial, 'line was', 'lines were')} recorded in part: of some types of DNS record, or of the HTTP ` +
        'headers, something newer is recorded.',
    );
  }
  if (older > 0) {
    remarks.push(
      `${counted(older, 'line is', 'lines are')} older than all that is recorded of a part of the domain: ` +
        'dms import --backfill FILE… puts such lines before what is recorded. Import all older files with one command: ' +
        'lines between two observations cannot be added later.',
    );
  }
  if (lost > 0) {
    remarks.push(
      `${counted(lost, 'line was', 'lines were')} lost: of domains that were not recorded before, in the wrong order. ` +
        (lostBetween === 0
          ? 'Import all the files again with one command, and --backfill.'
          : 'Erase these domains (dms forget DOMAIN…) and import all the files with one command, and --backfill.'),
    );
  }
  // Of domains that were recorded before it was said before, or their observations are there already.
  if (formats.has('cof') && summary.newDomains > 0) {
    remarks.push(
      'Import passive DNS after all observations of the same domains: older files of other formats that are imported later can ' +
        'give another history than before it.',
    );
  }
  return remarks.map((line) => `${line}\n`).join('');
}

/** A line about observations that were not recorded because they differ from others of the same time. */
export function warningText({ contradicting }: ImportSummary): string {
  if (contradicting === 0) return '';
  const lines = counted(contradicting, 'line differs', 'lines differ');
  return `Warning: ${lines} from what is recorded of the same domain at the same time, where the first observation stays.\n`;
}

function duration(seconds: number): string {
  return seconds < 60
    ? `${seconds.toFixed(1)} s`
    : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}
