import type { Pool } from 'pg';
import type { Settings } from '../../config/settings.js';
import type { Connections } from '../../database/pool.js';
import type { Changes } from '../../history/diff.js';
import { identityOf } from '../../history/state.js';
import { dnsRecordData } from '../../model/dns-record.js';
import { NoDatabaseError, OperationError } from '../../model/errors.js';
import { formatInstant } from '../../model/instant.js';
import { printable } from '../../model/text.js';
import { checkAll } from '../../observer/check-all.js';
import type { DomainCheck, DomainObserver } from '../../observer/observe-domain.js';
import { type CheckOutcome, hasFailed, responseText } from '../../observer/outcome.js';
import { type RecordedCheck, type RecordObservations, recordChecks } from '../../observer/record-checks.js';
import { noteObserved } from '../../observer/schedule/watch-list.js';
import type { DnsAnswer, HttpAnswer } from '../../observer/verdict.js';
import { createObserver, createResolverChecks } from '../../observing.js';
import { createRecorder, previewFirst } from '../../recorder/recorder.js';
import { type CommandContext, now, stopSignal } from '../command-context.js';
import { readDomains } from '../domain-arguments.js';
import { recordText } from '../history-text.js';
import { counted, jsonLine, writeText } from '../output.js';

export async function runObserve(
  context: CommandContext,
  domains: readonly string[],
  { dryRun, json }: { dryRun: boolean; json: boolean },
): Promise<void> {
  const names = await readDomains(context, domains);
  const signal = stopSignal(context);
  const settings = context.settings();
  const present = json ? checkAsJson : checkAsText;
  const nameOf = ({ check }: RecordedCheck) => check.domain;
  let observed = 0;
  const failed: string[] = [];
  const late: string[] = [];
  const observeAll = (record: RecordObservations, noted?: Pool) => {
    const take = async (checks: readonly DomainCheck[]) => {
      const all = await recordChecks(record, checks);
      if (noted !== undefined) await noteObserved(noted, all);
      observed += all.length;
      failed.push(...all.filter(({ outcome }) => hasFailed(outcome)).map(nameOf));
      late.push(...all.filter(({ recording }) => recording === 'stale').map(nameOf));
      await writeText(context.stdout, all.map((each) => present(each, !dryRun)).join(''));
    };
    return checkAll(observerOf(context, settings), names, take, { signal, now });
  };
  const inDatabase = ({ pool }: Connections) => {
    const { record, preview } = createRecorder(pool, { httpsGrace: settings.observe.httpsGrace });
    return dryRun ? observeAll(preview) : observeAll(record, pool);
  };
  await context.withConnections(dryRun ? 'fail' : 'create', inDatabase).catch((error) => {
    if (!(error instanceof NoDatabaseError)) throw error;
    // A dry run creates nothing, not even an empty database.
    return observeAll(async (observations) => previewFirst(observations));
  });
  if (signal.aborted) {
    const checked = `${observed} of ${names.length} domains were checked`;
    const kept = dryRun ? '' : '; what was seen of them is recorded';
    throw new OperationError(`Stopped by a signal: ${checked}${kept}.`);
  }
  if (failed.length > 0) throw new OperationError(`Nothing could be observed of ${failed.join(', ')}.`);
  const advice = 'If there should be none, the clock is or was wrong: set it, by NTP say.';
  if (late.length > 0)
    throw new OperationError(`Later observations are recorded of ${late.join(', ')}. ${advice}`);
}

/** Says on standard error what is wrong with a resolver. */
export function observerOf(context: CommandContext, settings: Settings): DomainObserver {
  return createObserver(settings, now, createResolverChecks(settings, now, context.warn));
}

const TYPE_WIDTH = 7;

function checkAsText(recorded: RecordedCheck, isRecorded: boolean): string {
  const { check, outcome, changes } = recorded;
  const lines = [
    `${check.domain} at ${formatInstant(check.observedAt)}`,
    ...(outcome.dns.nameExists === false ? ['  There is no such name (NXDOMAIN).'] : []),
    ...[...check.dns].flatMap(([type, answer]) => dnsLines(type, answer, changes, check.domain)),
    ...httpLines(check.http, outcome, changes),
    summaryText(recorded, isRecorded),
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
  const gone = changed.flatMap(({ kind, name, old }) => (kind === 'gone' ? [[name, old] as const] : []));
  const lines = [...headers, ...gone].map(([name, value]) => {
    const change = changed.find((each) => each.name === name);
    const before = change?.kind === 'updated' ? ` (was: ${change.old})` : '';
    return `${change === undefined ? ' ' : MARKS[change.kind]}   ${name}: ${value}${before}`;
  });
  return [`  ${responseText(http)}`, ...lines];
}

function summaryText({ recording, changes }: RecordedCheck, isRecorded: boolean): string {
  const { added, removed, headers } = changes;
  if (recording === 'nothing') return 'Nothing was observed, and nothing is recorded.';
  if (recording === 'stale') return 'Nothing is recorded: later observations of all of it are.';
  const records = (changed: readonly unknown[]) => counted(changed.length, 'record');
  const text =
    added.length + removed.length + headers.length === 0
      ? 'No change'
      : `${records(added)} added, ${records(removed)} removed, ${counted(headers.length, 'header')} changed`;
  return isRecorded ? `${text}.` : `${text}; nothing is recorded (--dry-run).`;
}

function checkAsJson(recorded: RecordedCheck, isRecorded: boolean): string {
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
