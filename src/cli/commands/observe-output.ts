import type { Changes } from '../../history/apply-observation.js';
import { identityOf } from '../../history/diff.js';
import { dnsRecordData } from '../../model/dns-record.js';
import { formatInstant } from '../../model/instant.js';
import { printable } from '../../model/text.js';
import type { DnsAnswer } from '../../observer/dns/answer.js';
import type { HttpAnswer } from '../../observer/http/client.js';
import { type CheckOutcome, responseText } from '../../observer/outcome.js';
import type { RecordedCheck } from '../../observer/record-checks.js';
import { recordText } from '../history-text.js';
import { counted, jsonLine } from '../output.js';

type Recording = RecordedCheck['recording'];

const TYPE_WIDTH = 7;

export function checkAsText(recorded: RecordedCheck, isRecorded: boolean): string {
  const { check, outcome, changes } = recorded;
  const lines = [
    `${check.domain} at ${formatInstant(check.observedAt)}`,
    ...(outcome.dns.nameExists === false ? ['  There is no such name (NXDOMAIN).'] : []),
    ...[...check.dns].flatMap(([type, answer]) => dnsLines(type, answer, changes, check.domain)),
    ...httpLines(check.http, outcome, changes),
    summaryText(changes, isRecorded, recorded.recording),
  ];
  return `${lines.map(printable).join('\n')}\n\n`;
}

function dnsLines(type: string, answer: DnsAnswer, { added, removed }: Changes, domain: string): string[] {
  const label = `  ${type.padEnd(TYPE_WIDTH)}`;
  if (answer.kind === 'failed') return [`${label} not observed: ${answer.failure.message}`];
  const isNew = new Set(added.flatMap(({ record }) => (record.type === type ? identityOf(record) : [])));
  const gone = removed.filter(({ record }) => record.type === type);
  const lines = [
    ...answer.records.map((record) => [isNew.has(identityOf(record)) ? '+' : ' ', record] as const),
    ...gone.map(({ record }) => ['-', record] as const),
  ].map(([mark, record]) => `${mark} ${recordText(dnsRecordData(record), domain, TYPE_WIDTH)}`);
  return lines.length > 0 ? lines : [`${label} none`];
}

const MARKS = { created: '+', updated: '~', gone: '-', returned: '+' } as const;

function httpLines(answer: HttpAnswer, { http }: CheckOutcome, { headers: changed }: Changes): string[] {
  if ('failure' in http) {
    const { code, message } = http.failure;
    const advice = code === 'private-address' ? ' (OBSERVE_PRIVATE=allow observes it anyway)' : '';
    return [`  HTTP not observed: ${message}${advice}`];
  }
  if (http.heldBack !== undefined) return [`  ${responseText(http)}`];
  const headers = answer.kind === 'answered' ? [...answer.headers].sort() : [];
  const gone = changed.flatMap(({ kind, name, old }) =>
    kind === 'gone' ? [[name, old ?? ''] as const] : [],
  );
  const lines = [...headers, ...gone].map(([name, value]) => {
    const change = changed.find((each) => each.name === name);
    const before = change?.kind === 'updated' ? ` (was: ${change.old})` : '';
    return `${change === undefined ? ' ' : MARKS[change.kind]}   ${name}: ${value}${before}`;
  });
  return [`  ${responseText(http)}`, ...lines];
}

function summaryText(
  { added, removed, headers }: Changes,
  isRecorded: boolean,
  recording: Recording,
): string {
  if (recording === 'nothing') return 'Nothing was observed, and nothing is recorded.';
  if (recording === 'stale') return 'Nothing is recorded: later observations of all of it are.';
  const records = (changed: readonly unknown[]) => counted(changed.length, 'record', 'records');
  const text =
    added.length + removed.length + headers.length === 0
      ? 'No change'
      : `${records(added)} added, ${records(removed)} removed, ${counted(headers.length, 'header', 'headers')} changed`;
  return isRecorded ? `${text}.` : `${text}; nothing is recorded (--dry-run).`;
}

export function checkAsJson(recorded: RecordedCheck, isRecorded: boolean): string {
  const { check, recording } = recorded;
  const { http } = recorded.outcome;
  const { added, removed, headers } = recorded.changes;
  return jsonLine({
    domain: check.domain,
    observedAt: formatInstant(check.observedAt),
    recorded: isRecorded && recording !== 'nothing' && recording !== 'stale',
    dns: Object.fromEntries([...check.dns].map(([type, answer]) => [type, dnsAnswer(answer)])),
    http: check.http.kind === 'failed' ? http : { ...http, headers: Object.fromEntries(check.http.headers) },
    changes: {
      recordsAdded: added.map(({ record }) => dnsRecordData(record)),
      recordsRemoved: removed.map(({ record }) => dnsRecordData(record)),
      headers: headers.map(({ name, kind, value, old }) => ({ name, event: kind, new: value, old })),
    },
  });
}

function dnsAnswer(answer: DnsAnswer) {
  if (answer.kind === 'failed') return { failure: answer.failure };
  return { nameExists: answer.nameExists, records: answer.records.map(dnsRecordData) };
}
