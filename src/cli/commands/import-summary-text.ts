import type { ImportSummary } from '../../importers/import-summary.js';

/** The closing summary of an import, as lines for a person. */
export function summaryText(summary: ImportSummary, seconds: number): string {
  const rows: [string, string][] = [
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

function domains({ domains: { count, exact }, newDomains }: ImportSummary): string {
  return `${exact ? '' : 'more than '}${number(count)} (${number(newDomains)} new)`;
}

function remarks({ stale, contradicting }: ImportSummary): string[] {
  const remarks: string[] = [];
  if (stale > 0) {
    remarks.push(
      `${number(stale)} stale lines were older than what is recorded, and changed nothing. That is so when a ` +
        'file is imported again; if its lines are not in the order of time, import it with --sort, which ' +
        'sorts it first.',
    );
  }
  if (contradicting > 0) {
    remarks.push(
      `Warning: ${number(contradicting)} lines differ from an observation of the same domain at the same ` +
        'time, and changed nothing: the first one stays.',
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
  return `${number(Math.round(count / Math.max(seconds, 0.001)))} lines/s`;
}
