import type { MergedChanges } from '../../history/merge-changes.js';
import { dnsRecordData } from '../../model/dns-record.js';
import { formatInstant } from '../../model/instant.js';
import type { DnsAnswer } from '../../observer/dns/answer.js';
import type { HttpAnswer } from '../../observer/http/client.js';
import type { CheckOutcome } from '../../observer/outcome.js';
import type { RecordedCheck } from '../../observer/record-checks.js';

/** A look and what it changed as a JSON object on one line. */
export function lookAsJson({ check, outcome, recording, changes }: RecordedCheck, recorded: boolean): string {
  const object = {
    domain: check.domain,
    observedAt: formatInstant(check.observedAt),
    recorded: recorded && recording !== 'nothing',
    dns: Object.fromEntries([...check.dns].map(([type, answer]) => [type, dnsAnswer(answer)])),
    http: httpAnswer(check.http, outcome),
    changes: changesOf(changes),
  };
  return `${JSON.stringify(object)}\n`;
}

function dnsAnswer(answer: DnsAnswer) {
  if (answer.kind === 'failed') return { failure: answer.failure };
  return { nameExists: answer.nameExists, records: answer.records.map(dnsRecordData) };
}

function httpAnswer(answer: HttpAnswer, { http }: CheckOutcome) {
  return answer.kind === 'failed' ? http : { ...http, headers: Object.fromEntries(answer.headers) };
}

function changesOf(changes: MergedChanges | null) {
  return {
    recordsAdded: changes?.added.map(({ record }) => dnsRecordData(record)) ?? [],
    recordsRemoved: changes?.removed.map(({ record }) => dnsRecordData(record)) ?? [],
    headers:
      changes?.headers.map(({ name, kind, value, old }) => ({ name, event: kind, new: value, old })) ?? [],
  };
}
