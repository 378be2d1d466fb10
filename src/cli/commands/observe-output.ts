import type { Changes } from '../../history/apply-observation.js';
import { identityOf } from '../../history/diff.js';
import type { HeaderChange } from '../../history/state.js';
import { type DnsRecord, dnsRecordData } from '../../model/dns-record.js';
import { formatInstant } from '../../model/instant.js';
import type { DnsAnswer } from '../../observer/dns/answer.js';
import type { Failure } from '../../observer/failure.js';
import type { HttpAnswer } from '../../observer/http/client.js';
import { type CheckOutcome, responseText, saysNoSuchName } from '../../observer/outcome.js';
import type { RecordedCheck } from '../../observer/record-checks.js';
import { printable, recordText } from '../history-text.js';
import { jsonLine } from '../output.js';

const NOTHING: Changes = { added: [], removed: [], headers: [], responses: [], earlier: [] };
const TYPE_WIDTH = 7;

/** A check as text: what was observed, line by line, each marked if it is new or gone. */
export function checkAsText(
  { check, outcome, changes: found, recording }: RecordedCheck,
  recorded: boolean,
): string {
  const changes = found ?? NOTHING;
  const lines = [
    `${check.domain} at ${formatInstant(check.observedAt)}`,
    ...(saysNoSuchName(check.dns) ? ['  There is no such name (NXDOMAIN).'] : []),
    ...[...check.dns].flatMap(([type, answer]) => dnsLines(type, answer, changes, check.domain)),
    ...httpLines(check.http, outcome, changes),
    summary(changes, recorded, recording),
  ];
  return `${lines.map(printable).join('\n')}\n\n`;
}

function dnsLines(type: string, answer: DnsAnswer, { added, removed }: Changes, domain: string): string[] {
  if (answer.kind === 'failed')
    return [`  ${type.padEnd(TYPE_WIDTH)} not observed: ${answer.failure.message}`];
  const isNew = new Set(
    added.filter(({ record }) => record.type === type).map(({ record }) => identityOf(record)),
  );
  const gone = removed.filter(({ record }) => record.type === type).map(({ record }) => record);
  const seen = answer.records.map((record) =>
    recordLine(isNew.has(identityOf(record)) ? '+' : ' ', record, domain),
  );
  const lines = [...seen, ...gone.map((record) => recordLine('-', record, domain))];
  return lines.length > 0 ? lines : [`  ${type.padEnd(TYPE_WIDTH)} none`];
}

function recordLine(mark: string, record: DnsRecord, domain: string): string {
  return `${mark} ${recordText(dnsRecordData(record), domain, TYPE_WIDTH)}`;
}

const MARKS = { created: '+', updated: '~', gone: '-', returned: '+' } as const;

function httpLines(answer: HttpAnswer, { http }: CheckOutcome, { headers: changed }: Changes): string[] {
  if ('failure' in http) return [`  HTTP not observed: ${http.failure.message}${adviceOn(http.failure)}`];
  if (http.heldBack !== undefined) return [`  ${responseText(http)}`];
  const headers = answer.kind === 'answered' ? answer.headers : [];
  const byName = new Map(changed.map((change) => [change.name, change]));
  return [
    `  ${responseText(http)}`,
    ...[...headers].sort().map(([name, value]) => headerLine(name, value, byName.get(name))),
    ...changed
      .filter(({ kind }) => kind === 'gone')
      .map((change) => headerLine(change.name, change.old ?? '', change)),
  ];
}

function adviceOn({ code }: Failure): string {
  return code === 'private-address' ? ' (OBSERVE_PRIVATE=allow observes it anyway)' : '';
}

function headerLine(name: string, value: string, change: HeaderChange | undefined): string {
  const before = change?.kind === 'updated' ? ` (was: ${change.old})` : '';
  return `${change === undefined ? ' ' : MARKS[change.kind]}   ${name}: ${value}${before}`;
}

const STALE =
  'Nothing is recorded: later observations of all of it are. If there should be none, the clock is or was wrong.';

function summary(
  { added, removed, headers }: Changes,
  recorded: boolean,
  recording: RecordedCheck['recording'],
): string {
  if (recording === 'nothing') return 'Nothing was observed, and nothing is recorded.';
  if (recording === 'stale') return STALE;
  const text =
    added.length + removed.length + headers.length > 0
      ? `${count(added.length, 'record')} added, ${count(removed.length, 'record')} removed, ${count(headers.length, 'header')} changed`
      : 'No change';
  return recorded ? `${text}.` : `${text}; nothing is recorded (--dry-run).`;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** A check and what it changed as a JSON object on one line. */
export function checkAsJson(
  { check, outcome, recording, changes }: RecordedCheck,
  recorded: boolean,
): string {
  const { http } = outcome;
  return jsonLine({
    domain: check.domain,
    observedAt: formatInstant(check.observedAt),
    recorded: recorded && recording !== 'nothing' && recording !== 'stale',
    dns: Object.fromEntries([...check.dns].map(([type, answer]) => [type, dnsAnswer(answer)])),
    http: check.http.kind === 'failed' ? http : { ...http, headers: Object.fromEntries(check.http.headers) },
    changes: {
      recordsAdded: changes?.added.map(({ record }) => dnsRecordData(record)) ?? [],
      recordsRemoved: changes?.removed.map(({ record }) => dnsRecordData(record)) ?? [],
      headers:
        changes?.headers.map(({ name, kind, value, old }) => ({ name, event: kind, new: value, old })) ?? [],
    },
  });
}

function dnsAnswer(answer: DnsAnswer) {
  if (answer.kind === 'failed') return { failure: answer.failure };
  return { nameExists: answer.nameExists, records: answer.records.map(dnsRecordData) };
}
