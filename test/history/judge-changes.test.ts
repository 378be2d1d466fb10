import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { StoredHistory } from '../../src/history/stored-history.js';
import { findViolations } from '../../src/history/violations.js';
import { exported, extended, historyOf } from '../support/histories.js';
import { repeats } from '../support/long-form.js';
import { addressRecord, instant, type ObservationParts, observation } from '../support/observations.js';

const HOUR = 3_600;
const DAY = 24 * HOUR;

interface Told {
  readonly at: number;
  readonly what: string;
  readonly routine: string | null;
}

/** The changes that observations tell of, in the order of time: what came with +, what went with -. */
function toldOf(parts: readonly ObservationParts[], older: readonly ObservationParts[] = []): Told[] {
  const before = historyOf(parts.map(observation));
  const { stays, headers } = older.length === 0 ? before : extended(before, older.map(observation), true);
  const seconds = (time: bigint) => Number((time - instant(0)) / 1_000_000n);
  const textOf = (rdata: string) => String(Object.values(JSON.parse(rdata) as object)[0]);
  const told = [
    ...stays.flatMap(({ firstSeen, record, removal, routine }): Told[] => {
      const came = { at: seconds(firstSeen), what: `+${textOf(record.rdata)}`, routine };
      if (removal === null) return [came];
      const { removed, routine: reason } = removal;
      return [came, { at: seconds(removed), what: `-${textOf(record.rdata)}`, routine: reason }];
    }),
    ...headers.map(({ name, observedAt, value, routine }) => ({
      ...{ at: seconds(observedAt), what: value === null ? `-${name}` : `+${name}`, routine },
    })),
  ];
  return told.sort((a, b) => a.at - b.at || (a.what < b.what ? -1 : 1));
}

const reasonsAt = (told: readonly Told[], time: number) =>
  told.filter(({ at }) => at === time).map(({ what, routine }) => [what, routine]);

/** An observation each hour, of one of three addresses in turn. */
const rotating = (hours: number, from = 0): ObservationParts[] =>
  Array.from({ length: hours }, (_, hour) => ({
    at: from + hour * HOUR,
    records: [`192.0.2.${(hour % 3) + 1}`],
  }));

describe('what the first observation of a part shows was there before', () => {
  test('its records and headers are INITIAL; what comes later is not, of another type neither', () => {
    const text = { host: 'example.com', class: 'IN', type: 'TXT', txt: 'x' };
    const told = toldOf([
      { at: 1, records: ['192.0.2.1'] },
      { at: 2, headers: { server: 'a' }, records: ['192.0.2.1', text] },
      { at: 3, headers: { server: 'a', via: 'b' } },
    ]);
    const reasons = { '+192.0.2.1': 'INITIAL', '+server': 'INITIAL', '+x': null, '+via': null };
    expect(Object.fromEntries(told.map(({ what, routine }) => [what, routine]))).toEqual(reasons);
  });

  test('an older observation makes news of it', () => {
    const told = toldOf([{ at: 5, records: ['192.0.2.1'] }], [{ at: 1, records: ['192.0.2.9'] }]);
    expect(told).toEqual([
      { at: 1, what: '+192.0.2.9', routine: 'INITIAL' },
      { at: 5, what: '+192.0.2.1', routine: null },
      { at: 5, what: '-192.0.2.9', routine: null },
    ]);
  });
});

describe('an RRset that changes again and again', () => {
  const DAYS = 8;
  const long = rotating(DAYS * 24);

  test('is notable until it rotates, and routine from then on, coming and going', () => {
    const told = toldOf(long);
    const notable = told.filter(({ routine }) => routine === null).map(({ at }) => at / HOUR);
    expect(new Set(notable)).toEqual(new Set([1, 2, 3]));
    const later = { '+192.0.2.1': 'ROTATING', '-192.0.2.3': 'ROTATING' };
    expect(Object.fromEntries(reasonsAt(told, 9 * HOUR))).toEqual(later);
  });

  test('an address that it never had is notable once its pool is known, and only what comes and goes with it', () => {
    const [at, later] = [DAYS * DAY, DAYS * DAY + HOUR];
    const told = toldOf([...long, { at, records: ['198.51.100.1'] }, { at: later, records: ['192.0.2.1'] }]);
    expect(reasonsAt(told, at).every(([, routine]) => routine === null)).toBe(true);
    expect(reasonsAt(told, later).every(([, routine]) => routine === 'ROTATING')).toBe(true);
  });

  test('the first change after it was quiet is notable', () => {
    const told = toldOf([...long, ...rotating(2, 20 * DAY)]);
    expect(reasonsAt(told, 20 * DAY + HOUR).every(([, routine]) => routine === null)).toBe(true);
  });

  test('another owner name of the same type is judged by itself', () => {
    const www = (hour: number) => addressRecord('www.example.com', `203.0.113.${hour < 100 ? 1 : 2}`);
    const told = toldOf(long.map(({ at, records = [] }, hour) => ({ at, records: [...records, www(hour)] })));
    expect(reasonsAt(told, 100 * HOUR)).toContainEqual(['+203.0.113.2', null]);
    expect(reasonsAt(told, 100 * HOUR)).toContainEqual(['-192.0.2.1', 'ROTATING']);
  });

  test('older observations decide anew what came after them', () => {
    expect(toldOf(long.slice(2), long.slice(0, 2))).toEqual(toldOf(long));
  });
});

describe('an error page', () => {
  const SITE = { server: 'nginx', 'x-frame-options': 'DENY' };
  const PAGE = { server: 'nginx', 'retry-after': '60' };
  const head = (at: number, headers: Record<string, string>, status = 200) => ({ at, headers, status });

  test('is routine, and so is the site as it was before', () => {
    const told = toldOf([head(1, SITE), head(2, PAGE, 503), head(3, SITE)]).filter(({ at }) => at > 1);
    expect(told.map(({ routine }) => routine)).toEqual(Array(4).fill('ERROR_PAGE'));
  });

  test('hides nothing that is another than before it', () => {
    const told = toldOf([head(1, SITE), head(2, PAGE, 503), head(3, { server: 'caddy' })]);
    expect(Object.fromEntries(reasonsAt(told, 3))).toEqual({ '+server': null, '-retry-after': 'ERROR_PAGE' });
    // The policy was dropped, which the error page did not have either: nothing changed then that could be told.
    expect(reasonsAt(told, 2)).toContainEqual(['-x-frame-options', 'ERROR_PAGE']);
  });

  test('with an unknown status is a change like others', () => {
    const told = toldOf([SITE, PAGE].map((headers, at) => ({ at, headers })));
    expect(reasonsAt(told, 1).map(([, routine]) => routine)).toEqual([null, null]);
  });

  test('and what follows it are judged the same where an older observation is put before', () => {
    const parts = [head(2, PAGE, 503), head(3, { server: 'caddy' }), head(4, { server: 'nginx' }, 500)];
    expect(toldOf(parts, [head(1, SITE)])).toEqual(toldOf([head(1, SITE), ...parts]));
  });
});

test('a nonce does not make a value that was never seen', () => {
  const policy = (nonce: number, more: string) => ({
    'content-security-policy': `script-src 'nonce-${nonce}'${more}`,
  });
  const told = toldOf(
    Array.from({ length: 12 }, (_, hour) => ({
      at: hour * HOUR,
      headers: policy(hour, hour % 2 ? ' a.example' : ''),
    })),
  );
  expect(told.at(-1)?.routine).toBe('ROTATING');
  expect(toldOf([0, 1].map((at) => ({ at, headers: policy(at, '') }))).at(-1)?.routine).toBe('NONCE_ONLY');
});

const anyLook = fc.record({
  // Units of an hour or a day: some sets are seen whole, and become quiet.
  gap: fc.constantFrom(1, 1, 1, 2, 24, 60, 100),
  a: fc.uniqueArray(fc.integer({ min: 1, max: 5 }), { maxLength: 3 }),
  serial: fc.integer({ min: 1, max: 3 }),
  server: fc.constantFrom('a', 'b'),
  nonce: fc.integer({ min: 1, max: 3 }),
  via: fc.boolean(),
  status: fc.constantFrom(200, 200, 404, 503),
  parts: fc.constantFrom('dns', 'http', 'both', 'both'),
});

const SOA = {
  ...{ host: 'example.com', class: 'IN', type: 'SOA', mname: 'ns.example', rname: 'h.example' },
  ...{ refresh: 1, retry: 2, expire: 3, 'minimum-ttl': 4 },
};

const looks = fc.array(anyLook, { minLength: 2, maxLength: 40 }).map((all) => {
  let at = 0;
  return all.map(({ gap, a, serial, server, nonce, via, status, parts }): ObservationParts => {
    at += gap * HOUR;
    const records = [...a.map((octet) => `192.0.2.${octet}`), { ...SOA, serial }];
    const headers = {
      server,
      'content-security-policy': `script-src 'nonce-${nonce}'`,
      ...(via && { via: 'proxy' }),
    };
    return { at, ...(parts !== 'http' && { records }), ...(parts !== 'dns' && { headers, status }) };
  });
});

test('reasons are the same by replay, after export and import, and where older observations come later', () => {
  fc.assert(
    fc.property(looks, fc.double({ min: 0, max: 1, noNaN: true }), (parts, share) => {
      const observations = parts.map(observation);
      const history = historyOf(observations);
      expect(findViolations(history)).toEqual([]);
      expect(reasonsOf(historyOf(exported(history)))).toEqual(reasonsOf(history));
      const cut = Math.ceil(share * (observations.length - 1));
      const [older, newer] = [observations.slice(0, cut), observations.slice(cut)];
      if (older.length === 0) return;
      expect(reasonsOf(extended(historyOf(newer), older, true))).toEqual(reasonsOf(history));
    }),
    { numRuns: repeats(2_000, 200) },
  );
});

/** All that is known of why changes are routine, and of how the next ones are judged. */
function reasonsOf({ stays, headers, responses, earlier, state }: StoredHistory) {
  return {
    stays: stays.map(({ firstSeen, record, routine, removal }) => ({
      ...{ firstSeen, rdata: record.rdata, routine, removed: removal?.removed, reason: removal?.routine },
    })),
    headers: headers.map(({ name, observedAt, routine }) => [name, observedAt, routine]),
    responses: responses.map(({ observedAt, status, routine }) => [observedAt, status, routine]),
    earlier,
    site: state.site,
  };
}
