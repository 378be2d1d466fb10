import { Counter, Histogram, type Registry } from 'prom-client';
import type { Changes } from '../history/diff.js';
import type { Outcome } from '../history/record-observations.js';
import type { HeaderChangeKind } from '../history/state.js';
import type { Observation } from '../model/observation.js';
import type { Recording } from '../recorder/recorder.js';
import type { Logger } from '../telemetry/logging.js';
import type { DomainCheck } from './observe-domain.js';
import { type CheckOutcome, outcomeOf } from './outcome.js';

export interface RecordedCheck {
  readonly check: DomainCheck;
  readonly outcome: CheckOutcome;
  /** `nothing`: no part was observed. */
  readonly recording: Outcome['kind'] | 'nothing';
  readonly changes: Changes;
}

const NO_CHANGES: Changes = { added: [], removed: [], headers: [], responses: [], earlier: [] };

/** Or only compares them with what is known. */
export type RecordObservations = (observations: readonly Observation[]) => Promise<Recording>;

/** Records checks of different domains as one batch. @throws what `record` throws. */
export async function recordChecks(record: RecordObservations, checks: readonly DomainCheck[]) {
  const { outcomes, changes } = await record(checks.flatMap(({ observation }) => observation ?? []));
  const left = outcomes.values();
  return checks.map((check): RecordedCheck => {
    const recorded = check.observation === null ? undefined : left.next().value;
    const { kind = 'nothing', heldBack = null } = recorded ?? {};
    const outcome = outcomeOf(check.dns, check.http, heldBack);
    return { check, outcome, recording: kind, changes: changes.get(check.domain) ?? NO_CHANGES };
  });
}

export type ReportCheck = (recorded: RecordedCheck) => void;

/** Upper bounds in seconds: from a response on the same network to timeouts everywhere. */
const DURATION_BUCKETS = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 60];

/** Each check is a line in the log; the metrics are created once for each registry. */
export function createCheckReport(log: Logger, registry: Registry): ReportCheck {
  const registers = [registry];
  const observations = new Counter({
    name: 'dms_observations_total',
    help: 'Observations of a domain, by the result of recording.',
    labelNames: ['recording'],
    registers,
  });
  // A part is `http` or a DNS type; its outcome `answered`, the code of its failure, or `held-back`.
  const parts = new Counter({
    name: 'dms_observed_parts_total',
    help: 'Observed parts of domains, by outcome.',
    labelNames: ['part', 'outcome'],
    registers,
  });
  const changes = new Counter({
    name: 'dms_observed_changes_total',
    help: 'Changes that observations brought, by kind.',
    labelNames: ['kind'],
    registers,
  });
  const durations = new Histogram({
    name: 'dms_observation_duration_seconds',
    help: 'Duration of an observation of a domain.',
    buckets: DURATION_BUCKETS,
    registers,
  });
  return ({ check: { domain, duration }, outcome, recording, changes: merged }) => {
    const counts = countChanges(merged);
    const { dns, http } = outcome;
    log.info({ domain, duration: Math.round(duration), dns, http, recording, changes: counts }, 'observed');
    observations.inc({ recording });
    for (const part of dns.answered) parts.inc({ part, outcome: 'answered' });
    for (const [part, { code }] of Object.entries(dns.failures)) parts.inc({ part, outcome: code });
    const site =
      'failure' in http ? http.failure.code : http.heldBack === undefined ? 'answered' : 'held-back';
    parts.inc({ part: 'http', outcome: site });
    for (const [kind, count] of Object.entries(counts)) changes.inc({ kind }, count);
    durations.observe(duration / 1000);
  };
}

function countChanges({ added, removed, headers }: Changes): Readonly<Record<string, number>> {
  const count = (kind: HeaderChangeKind) => headers.filter((change) => change.kind === kind).length;
  return {
    recordsAdded: added.length,
    recordsRemoved: removed.length,
    headersCreated: count('created'),
    headersUpdated: count('updated'),
    headersGone: count('gone'),
    headersReturned: count('returned'),
  };
}
