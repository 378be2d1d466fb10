import { expect, test } from 'vitest';
import { outcomeOf, outcomeText } from '../../src/observer/outcome.js';
import { type DnsAnswer, type FailureCode, failed } from '../../src/observer/verdict.js';

const NO_ADDRESS = failed('no-address', 'its addresses could not be resolved');

/** The outcome of a check with these answers, whose site could not be observed. */
const outcomeWith = (answers: Readonly<Record<string, DnsAnswer>>) =>
  outcomeOf(new Map(Object.entries(answers)), NO_ADDRESS);

/** An answer without records: NODATA, or NXDOMAIN. */
function empty(nameExists: boolean): DnsAnswer {
  return { kind: 'answered', nameExists, records: [], aliases: [] };
}

test.each<FailureCode>(['timeout', 'unreachable', 'servfail', 'refused', 'unproven', 'stopped'])(
  'a check in which every question failed says neither that the name exists nor that it does not: %s',
  (code) => {
    const outcome = outcomeWith({ A: failed(code, 'no answer'), MX: failed(code, 'no answer') });
    expect(outcome.dns).toMatchObject({ answered: [], nameExists: null });
    expect(outcomeText(outcome)).toMatch(/^DNS failed /);
  },
);

test.each([true, false])('one answer beside failures says whether the name exists: %s', (nameExists) => {
  const { dns } = outcomeWith({ A: failed('timeout', 'no answer'), MX: empty(nameExists) });
  expect(dns).toMatchObject({ answered: ['MX'], nameExists });
});

test('an outcome in one line names the types that failed alike together', () => {
  const refused = failed('refused', 'REFUSED from 192.0.2.53:53');
  const answers = { NS: empty(true), A: refused, MX: failed('timeout', 'no answer'), TXT: refused };
  expect(outcomeText(outcomeWith(answers))).toBe(
    'DNS in part (A TXT: REFUSED from 192.0.2.53:53, MX: no answer); HTTP: its addresses could not be resolved',
  );
});
