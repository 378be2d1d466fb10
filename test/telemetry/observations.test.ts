import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createLogger } from '../../src/telemetry/logging.js';
import { createObservationTelemetry, type ObservationEvent } from '../../src/telemetry/observations.js';

const EVENT: ObservationEvent = {
  domain: 'example.com',
  duration: 123.4,
  dns: {
    nameExists: true,
    answered: ['A', 'MX'],
    failures: { TXT: { code: 'timeout', message: '192.0.2.53:53 does not answer' } },
  },
  http: { scheme: 'https', status: 200, address: '192.0.2.7' },
  recording: 'changed',
  changes: {
    ...{ recordsAdded: 2, recordsRemoved: 1 },
    ...{ headersCreated: 3, headersUpdated: 0, headersGone: 0, headersReturned: 0 },
  },
};

test('each observation is one line of the log and one set of counters', async () => {
  const lines: Record<string, unknown>[] = [];
  const log = createLogger({ level: 'info', stream: { write: (line) => lines.push(JSON.parse(line)) } });
  const registry = new Registry();
  const telemetry = createObservationTelemetry(log, registry);
  telemetry.observed(EVENT);
  telemetry.observed({
    ...EVENT,
    http: { failure: { code: 'private-address', message: '10.0.0.1 is not a public address' } },
    recording: 'unchanged',
  });
  telemetry.observed({
    ...EVENT,
    http: { scheme: 'http', status: 301, address: '192.0.2.7', heldBack: { looks: 1 } },
    recording: 'unchanged',
  });
  expect(lines).toHaveLength(3);
  expect(lines[0]).toMatchObject({ ...EVENT, duration: 123, level: 'info', msg: 'observed' });
  const text = await registry.metrics();
  for (const line of [
    'dms_observations_total{recording="changed"} 1',
    'dms_observations_total{recording="unchanged"} 2',
    'dms_observed_parts_total{part="A",outcome="answered"} 3',
    'dms_observed_parts_total{part="TXT",outcome="timeout"} 3',
    'dms_observed_parts_total{part="http",outcome="answered"} 1',
    'dms_observed_parts_total{part="http",outcome="private-address"} 1',
    'dms_observed_parts_total{part="http",outcome="held-back"} 1',
    'dms_observed_changes_total{kind="recordsAdded"} 6',
    'dms_observed_changes_total{kind="headersUpdated"} 0',
    'dms_observation_duration_seconds_bucket{le="0.3"} 3',
    'dms_observation_duration_seconds_count 3',
  ]) {
    expect(text.split('\n')).toContain(line);
  }
});
