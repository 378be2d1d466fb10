import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import type { Changes } from '../../src/history/diff.js';
import type { HeaderChange, RecordStay } from '../../src/history/state.js';
import type { CheckOutcome } from '../../src/observer/outcome.js';
import { createCheckReport, type RecordedCheck } from '../../src/observer/record-checks.js';
import { failed } from '../../src/observer/verdict.js';
import { createLogger } from '../../src/telemetry/logging.js';

const OUTCOME: CheckOutcome = {
  dns: {
    nameExists: true,
    answered: ['A', 'MX'],
    failures: { TXT: { code: 'timeout', message: '192.0.2.53:53 does not respond' } },
  },
  http: { scheme: 'https', status: 200, address: '192.0.2.7' },
};
const record = { host: 'example.com', class: 'IN', type: 'A', rdata: '{"ip":"192.0.2.7"}' };
const NOBODY = { source: null, routine: null };
const STAY: RecordStay = { record, firstSeen: 1n, position: 0, removal: null, ...NOBODY };
const NEW = { name: 'server', kind: 'created', value: 'nginx', old: null } as const;
const CREATED: HeaderChange = { ...NEW, observedAt: 1n, lastSeen: null, ...NOBODY };
const NONE: Changes = { added: [], removed: [], headers: [], responses: [], earlier: [] };
const changes = { ...NONE, added: [STAY, STAY], removed: [STAY], headers: [CREATED, CREATED, CREATED] };
const http = failed('timeout', 'not reported: the outcome is');
const NOTHING = { observedAt: 1n, dns: new Map(), observation: null, http };
const check = { ...NOTHING, domain: 'example.com', duration: 123.4 };
const RECORDED: RecordedCheck = { check, outcome: OUTCOME, recording: 'changed', changes };

test('each observation is one line of the log and one set of counters', async () => {
  const lines: Record<string, unknown>[] = [];
  const log = createLogger({ level: 'info', stream: { write: (line) => lines.push(JSON.parse(line)) } });
  const registry = new Registry();
  const report = createCheckReport(log, registry);
  report(RECORDED);
  const failure = { code: 'private-address', message: '10.0.0.1 is not a public address' } as const;
  report({ ...RECORDED, outcome: { ...OUTCOME, http: { failure } }, recording: 'unchanged' });
  const heldBack = { since: '2024-03-01T00:00:00Z', checks: 1, until: '2024-03-02T00:00:00Z' };
  const held = { scheme: 'http', status: 301, address: '192.0.2.7', heldBack } as const;
  report({ ...RECORDED, outcome: { ...OUTCOME, http: held }, recording: 'unchanged', changes: NONE });
  expect(lines).toHaveLength(3);
  const counts = { recordsAdded: 2, recordsRemoved: 1, headersCreated: 3, headersUpdated: 0 };
  expect(lines[0]).toMatchObject({
    ...OUTCOME,
    ...{ domain: 'example.com', duration: 123, recording: 'changed', changes: counts },
    ...{ level: 'info', msg: 'observed' },
  });
  const text = await registry.metrics();
  for (const line of [
    'dms_observations_total{recording="changed"} 1',
    'dms_observations_total{recording="unchanged"} 2',
    'dms_observed_parts_total{part="A",outcome="answered"} 3',
    'dms_observed_parts_total{part="TXT",outcome="timeout"} 3',
    'dms_observed_parts_total{part="http",outcome="answered"} 1',
    'dms_observed_parts_total{part="http",outcome="private-address"} 1',
    'dms_observed_parts_total{part="http",outcome="held-back"} 1',
    'dms_observed_changes_total{kind="recordsAdded"} 4',
    'dms_observed_changes_total{kind="headersUpdated"} 0',
    'dms_observation_duration_seconds_bucket{le="0.3"} 3',
    'dms_observation_duration_seconds_count 3',
  ]) {
    expect(text.split('\n')).toContain(line);
  }
});
