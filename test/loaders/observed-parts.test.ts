import { expect, test } from 'vitest';
import { observedParts } from '../../src/loaders/observed-parts.js';

test('an attempt that failed is told of the parts that nothing has observed since', () => {
  const times = {
    everyType: null,
    types: new Map([
      ['A', { first: 1n, latest: 11n }],
      ['MX', { first: 1n, latest: 9n }],
    ]),
    http: { first: 1n, latest: 12n },
  };
  const failures = new Map([
    ['A', 'servfail'],
    ['MX', 'servfail'],
    ['HTTP', 'no-address'],
  ]);
  const failed = (everyType: { first: bigint; latest: bigint } | null) =>
    observedParts({ ...times, everyType }, { at: 10n, failures })
      .filter(({ failure }) => failure !== null)
      .map(({ name }) => name);
  expect(failed(null)).toEqual(['MX']);
  expect(failed({ first: 1n, latest: 10n })).toEqual(['MX']);
  expect(failed({ first: 1n, latest: 11n })).toEqual([]);
});
