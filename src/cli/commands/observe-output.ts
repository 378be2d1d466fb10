import type { Changes } from '../../history/apply-observation.js';
import { identityOf } from '../../history/diff.js';
import type { HeaderChange } from '../../history/state.js';
import { type DnsRecord, dnsRecordData } from '../../model/dns-record.js';
import { formatInstant } from '../../model/instant.js';
import { printable } from '../../model/text.js';
import { type CheckOutcome, responseText } from '../../observer/outcome.js';
import type { RecordedCheck } from '../../observer/record-checks.js';
import type { DnsAnswer, HttpAnswer } from '../../observer/verdict.js';
import { recordText } from '../history-text.js';
import { counted, jsonLine } from '../output.js';

type Recording = RecordedCheck['recording'];

const TYPE_WIDTH = 7;

/** What was observed, line by line, each marked if it is new or gone. */
export function checkAsText(recorded: RecordedCheck, isRecorded: boolean): string {
  const { check, outcome, changes } = recorded;
  const lines = [
    `${check.domain} at ${formatInstant(check.observedAt)}`,
    ...(outcome.dns.nameExists === false ? ['  There is no such name (NXDOMAIN).'] : []),
    ...[...check.dns].flatMap(([type, answer]) => dnsLines(type, answer, changes, check.domain)),
    ...httpLines(check.http, outcome, changes),
    summary(changes, isRecorded, recorded.recording),
  ];
  return `${lines.map(printable).join('\n')}\n\n`;
}

function dnsLines(type: string, answer: DnsAnswer, { added, removed }: Changes, domain: string): string[] {
  const label = `  ${type.padEnd(TYPE_WIDTH)}`;
  if (answer.kind === 'failed') return [`${label} not observed: ${answer.failure.message}`];
  const isNew = new Set(added.flatMap(({ record }) => (record.type === type ? identityOf(record) : [])));
  const lineOf = (mark: string, record: DnsRecord) =>
    `${mark} ${recordText(dnsRecordData(record), domain, TYPE_WIDTH)}`;
  const lines = [
    ...answer.records.map((record) => lineOf(isNew.has(identityOf(record)) ? '+' : ' ', record)),
    ...removed.flatMap(({ record }) => (record.type === type ? lineOf('-', record) : [])),
  ];
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
  const headers = answer.kind === 'answered' ? answer.headers : [];
  const byName = new Map(changed.map((change) => [change.name, change]));
  const gone = changed.filter(({ kind }) => kind === 'gone');
  return [
    `  ${responseText(http)}`,
    ...[...headers].sort().map(([name, value]) => headerLine(name, value, byName.get(name))),
    ...gone.map((change) => headerLine(change.name, change.old ?? '', change)),
  ];
}

function headerLine(name: string, value: string, change: HeaderChange | undefined): string {
  const before = change?.kind === 'updated' ? ` (was: ${change.old})` : '';
  return `${change === undefined ? ' ' : MARKS[change.kind]}   ${name}: ${value}${before}`;
}

const STALE =
  'Nothing is recorded: later observations of all of it are. If there should be none, the clock is or was wrong.';

function summary({ added, removed, headers }: Changes, isRecorded: boolean, recording: Recording): string {
  if (recording === 'nothing') return 'Nothing was observed, and nothing is recorded.';
  if (recording === 'stale') return STALE;
  const records = (changed: readonly unknown[]) => counted(changed.length, 'record', 'records');
  const text =
    added.length + removed.length + headers.length === 0
      ? 'No change'
      : `${records(added)} added, ${records(removed)} removed, ${counted(headers.length, 'header', 'headers')} changed`;
  return isRecorded ? `${text}.` : `${text}; nothing is recorded (--dry-run).`;
}

/** A check and what it changed as a JSON object on one line. */
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
