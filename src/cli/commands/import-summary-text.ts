import type { ImportFormat } from '../../importers/formats.js';
import type { ImportSummary } from '../../importers/import-summary.js';

/**
 * The closing summary of an import, as lines for a person.
 *
 * @param formats those that the inputs' lines told; they are shown where one is not the program's own.
 */
export function summaryText(
  summary: ImportSummary,
  seconds: number,
  formats: ReadonlySet<ImportFormat>,
): string {
  const rows: [string, string][] = [
    ...formatRows(formats),
    [
      'lines read',
      `${number(summary.linesRead)} in ${duration(seconds)}, ${rate(summary.linesRead, seconds)}`,
    ],
    ['recorded', `${number(summary.recorded)} (${number(summary.changed)} with a change)`],
    ['unchanged', number(summary.unchanged)],
    ['already known', number(summary.repeated)],
    ['stale', number(summary.stale)],
    ['refused', number(summary.linesRefused)],
    ['domains', domains(summary)],
    ['DNS records', `${number(summary.recordsAdded)} added, ${number(summary.recordsRemoved)} removed`],
    ['HTTP headers', `${number(summary.headersCreated)} created, ${number(summary.headersUpdated)} updated`],
  ];
  const lines = rows.map(([label, text]) => `${label.padEnd(14)}${text}`);
  return [...lines, ...remarks(summary)].map((line) => `${line}\n`).join('');
}

function formatRows(formats: ReadonlySet<ImportFormat>): [string, string][] {
  const names = [...formats].sort();
  return names.some((name) => name !== 'dms') ? [['format', names.join(', ')]] : [];
}

/** A count with its noun. */
export function counted(count: number, one: string, several: string): string {
  return `${number(count)} ${count === 1 ? one : several}`;
}

function domains({ domains: { count, exact }, newDomains }: ImportSummary): string {
  return `${exact ? '' : 'more than '}${number(count)} (${number(newDomains)} new)`;
}

function remarks({ stale, contradicting }: ImportSummary): string[] {
  const remarks: string[] = [];
  if (stale > 0) {
    remarks.push(
      `${counted(stale, 'stale line was', 'stale lines were')} older than what is recorded of the same part ` +
        'of a domain, and changed nothing. That is as it should be where a file is imported again.',
      'Nothing can be put in before what is recorded. Lines that are not in the order of time must be sorted ' +
        'before their first import (--sort). To put older lines in afterwards, erase their domains ' +
        '(dms forget DOMAIN…) and import all files of these together again, sorted: ' +
        'cat FILE… | dms import --sort -',
    );
  }
  if (contradicting > 0) {
    remarks.push(
      `Warning: ${counted(contradicting, 'line differs', 'lines differ')} from what is recorded of the same ` +
        'domain at the same time, where the first observation stays.',
    );
  }
  return remarks;
}

function number(count: number): string {
  return count.toLocaleString('en');
}

function duration(seconds: number): string {
  return seconds < 60
    ? `${seconds.toFixed(1)} s`
    : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

function rate(count: number, seconds: number): string {
  return `${counted(Math.round(count / Math.max(seconds, 0.001)), 'line', 'lines')}/s`;
}
