import { expect } from 'vitest';

/** @param readiness 503: it is not ready, since its database does not answer. */
export async function expectProbes(url: string, readiness: 200 | 503): Promise<void> {
  const [live, ready] = await Promise.all([fetch(`${url}/livez`), fetch(`${url}/readyz`)]);
  const body: unknown = await ready.json();
  expect([live.status, await live.json()]).toEqual([200, { status: 'ok' }]);
  expect([ready.status, ready.headers.get('retry-after'), body]).toEqual(
    readiness === 200
      ? [200, null, { status: 'ok' }]
      : [503, '5', { status: 'unavailable', reason: 'The database is unavailable.' }],
  );
}
