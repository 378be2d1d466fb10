import type { ImportFormat } from '../../importers/formats.js';
import type { ImportSummary } from '../../importers/import-summary.js';
import { counted, jsonLine, numberText } from '../output.js';

export const REASONS_SHOWN = 10;

/** Those of the inputs. */
type Formats = ReadonlySet<ImportFormat>;

/** @param file That of --rejects; undefined without. */
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

/** @param formats Shown if one is not the program's own. */
export function summaryText(summary: ImportSummary, seconds: number, formats: Formats): string {
  const number = numberText;
  const { linesRead, recordsAdded, recordsRemoved, headersCreated, headersUpdated, newDomains } = summary;
  const { count, exact } = summary.domains;
  const rate = counted(Math.round(linesRead / Math.max(seconds, 0.001)), 'line', 'lines');
  const names = [...formats].sort();
  const rows = [
    ['format', names.every((name) => name === 'dms') ? '' : names.join(', ')],
    ['lines read', `${number(linesRead)} in ${duration(seconds)}, ${rate}/s`],
    ['recorded', `${number(summary.recorded)} (${number(summary.changed)} with a change)`],
    ['unchanged', number(summary.unchanged)],
    ['already known', number(summary.repeated)],
    ['stale', number(summary.stale)],
    ['rejected', number(summary.linesRejected)],
    ['domains', `${exact ? '' : 'more than '}${number(count)} (${number(newDomains)} new)`],
    ['DNS records', `${number(recordsAdded)} added, ${number(recordsRemoved)} removed`],
    ['HTTP headers', `${number(headersCreated)} created, ${number(headersUpdated)} updated`],
  ] as const;
  return rows.map(([label, text]) => (text === '' ? '' : `${label.padEnd(14)}${text}\n`)).join('');
}

export function summaryJson(summary: ImportSummary, seconds: number, formats: Formats): string {
  const { linesRead, recorded, changed, unchanged, contradicting, stale, older, lost, partial } = summary;
  return jsonLine({
    formats: [...formats].sort(),
    seconds: Number(seconds.toFixed(3)),
    ...{ linesRead, recorded, changed, unchanged },
    alreadyKnown: summary.repeated,
    ...{ contradicting, stale, older, lost, partial },
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

/** What the lines could not tell, and what can be done about stale ones. */
export function remarksText(summary: ImportSummary, formats: Formats): string {
  const { staleAgain, older, lost, lostBetween, partial } = summary;
  const untold = Array.from(summary.remarks, ([remark, { lines, example }]) => {
    const told = example === undefined ? '' : ` For example, ${example}`;
    return `${counted(lines, 'line', 'lines')}: ${remark}${told}`;
  });
  const again =
    lostBetween === 0
      ? 'Import all the files again with one command, and --backfill.'
      : 'Erase these domains (dms forget DOMAIN…) and import all the files with one command, and --backfill.';
  const remarks = [
    ...untold,
    staleAgain > 0 &&
      `${counted(staleAgain, 'stale line was', 'stale lines were')} older than what is recorded of the same part ` +
        'of a domain, and changed nothing. This is expected when a file is imported again. Import the files of several tools ' +
        'with one command, and --backfill: what lies between two observations is stale later.',
    partial > 0 &&
      `${counted(partial, 'line was', 'lines were')} recorded in part: of some types of DNS record, or of the HTTP ` +
        'headers, something newer is recorded.',
    older > 0 &&
      `${counted(older, 'line is', 'lines are')} older than all that is recorded of a part of the domain: ` +
        'dms import --backfill FILE… puts such lines before what is recorded. Import all older files with one command: ' +
        'lines between two observations cannot be added later.',
    lost > 0 &&
      `${counted(lost, 'line was', 'lines were')} lost: of domains that were not recorded before, in the wrong order. ${again}`,
    // Of domains that were recorded before it was said before, or their observations are there already.
    formats.has('cof') &&
      summary.newDomains > 0 &&
      'Import passive DNS after all observations of the same domains: older files of other formats that are imported later can ' +
        'give another history than before it.',
  ];
  return remarks.map((line) => (line === false ? '' : `${line}\n`)).join('');
}

/** Observations that were not recorded because they differ from others of the same time. */
export function warningText({ contradicting }: ImportSummary): string {
  if (contradicting === 0) return '';
  const lines = counted(contradicting, 'line differs', 'lines differ');
  return `Warning: ${lines} from what is recorded of the same domain at the same time, where the first observation stays.\n`;
}

function duration(seconds: number): string {
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}
