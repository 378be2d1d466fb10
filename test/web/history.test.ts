import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRecorder } from '../../src/recorder/recorder.js';
import {
  type Change,
  compactRows,
  type Lane,
  type LoadedHistory,
  lanesOf,
  rowsByValue,
  withOlder,
  withRecorded,
} from '../../web/src/domain/history.js';
import {
  DomainChangesDocument,
  DomainHeadersDocument,
  DomainRecordsDocument,
} from '../../web/src/operations.generated.js';
import { type RecordEntry, rrsetOf, textOf } from '../../web/src/records.js';
import { microsecondsOf, timestampOf } from '../../web/src/time.js';
import { repeats } from '../support/long-form.js';
import { observation } from '../support/observations.js';
import { serviceOfFile } from '../support/service.js';

const DOMAIN = 'example.com';

const service = serviceOfFile();

async function ask(operation: object, variables: object) {
  const { data, errors } = await service.graphql(String(operation), { name: DOMAIN, ...variables });
  expect(errors).toBeUndefined();
  return data.domain;
}

async function stateAt(at?: string) {
  const [records, headers] = await Promise.all([
    ask(DomainRecordsDocument, { at, first: 500 }),
    ask(DomainHeadersDocument, { at, first: 500 }),
  ]);
  return {
    records: (records?.dnsRecordsConnection.nodes ?? []) as RecordEntry[],
    headers: (headers?.httpHeadersConnection.nodes ?? []) as LoadedHistory['headers'],
  };
}

interface Page {
  readonly nodes: Parameters<typeof withOlder>[1];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string };
}

async function loadHistory(first: number, pages: number): Promise<LoadedHistory> {
  let history: LoadedHistory = { changes: [], since: null, before: null, ...(await stateAt()) };
  let after: string | null = null;
  for (let page = 0; page < pages; page += 1) {
    const { nodes, pageInfo }: Page = (await ask(DomainChangesDocument, { first, after })).changes;
    history = withOlder(history, nodes, !pageInfo.hasNextPage);
    if (!pageInfo.hasNextPage) break;
    after = pageInfo.endCursor;
  }
  if (history.since === null) return history;
  return { ...history, before: (await stateAt(timestampOf(history.since))).headers };
}

function shownAt(lanes: readonly Lane[], at: string): string[] {
  const time = microsecondsOf(at);
  return lanes
    .flatMap(({ id, bars }) =>
      bars
        .filter(({ from, to }) => (from ?? 0) <= time && (to === null || time < to))
        .map(({ value }) => `${id} ${value}`),
    )
    .sort();
}

async function expectedAt(at: string): Promise<string[]> {
  const { records, headers } = await stateAt(at);
  return [
    ...records.map((record) => `record ${rrsetOf(record)} ${textOf(record)}`),
    ...headers.filter(({ present }) => present).map(({ name, value }) => `header ${name} ${value}`),
  ].sort();
}

const address = fc.constantFrom('192.0.2.1', '192.0.2.2', '192.0.2.3');
const text = fc.constantFrom('v=spf1 -all', 'v=spf1 mx -all');
const value = fc.constantFrom('one', 'two', 'three');
const headers = fc.dictionary(fc.constantFrom('server', 'via', 'x-a'), value);
const textRecord = text.map((txt) => ({ host: `www.${DOMAIN}`, class: 'IN', type: 'TXT', txt }));
const textRecords = fc.uniqueArray(textRecord, { selector: ({ txt }) => txt });
const records = fc.tuple(fc.uniqueArray(address), textRecords).map((lists) => lists.flat());
const observed = fc.record({ records, headers }, { requiredKeys: [] });

test('the timeline shows at every instant what the API says of it, however little of the history is loaded', async () => {
  let recorded = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(observed, { minLength: 2, maxLength: 12 }),
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 4 }),
      async (lines, first, pages) => {
        await service.database.pool.query(
          'TRUNCATE domain, dns_record, header_change, site_response, change_feed, known_name, known_text',
        );
        const observations = lines
          .filter((line) => line.records !== undefined || line.headers !== undefined)
          .map((line, place) => observation({ domain: DOMAIN, at: (recorded + place) * 10, ...line }));
        if (observations.length === 0) return;
        recorded += observations.length;
        for (const each of observations) await createRecorder(service.database.pool).record([each]);
        const history = await loadHistory(first, pages);
        // A part that was never observed before may be recorded with an older time; it is told as it is recorded.
        const last = await loadHistory(500, 1);
        const late = withRecorded(history, last.changes.slice(0, 1));
        expect([late.since, lanesOf(late, DOMAIN)]).toEqual([history.since, lanesOf(history, DOMAIN)]);
        const lanes = lanesOf(history, DOMAIN);
        const times = observations.flatMap(({ observedAt }) => [observedAt, observedAt + 5_000_000n]);
        for (const time of times) {
          if (history.since !== null && Number(time) < history.since) continue;
          const at = timestampOf(Number(time));
          expect(shownAt(lanes, at)).toEqual(await expectedAt(at));
        }
      },
    ),
    { numRuns: repeats(100, 6) },
  );
});

test('a change that was just recorded is shown once, the newest first, and what is present follows it', async () => {
  await service.database.pool.query('TRUNCATE domain, dns_record, header_change, change_feed');
  await service.record({ at: 900_000, records: ['192.0.2.1'], headers: { server: 'one' } });
  const before = await loadHistory(500, 1);
  await service.record({ at: 900_010, records: ['192.0.2.2'], headers: { server: 'two' } });
  const now = await loadHistory(500, 1);
  const fresh = now.changes.filter(({ id }) => !before.changes.some((known) => known.id === id));
  const after = withRecorded(withRecorded(before, fresh.toReversed()), fresh);
  expect(after.changes.map(({ id }: Change) => id).sort()).toEqual(now.changes.map(({ id }) => id).sort());
  expect(after.changes[0]?.date).toBe(now.changes[0]?.date);
  expect(after.records.map(textOf)).toEqual(['192.0.2.2']);
  expect(after.headers.map(({ value }) => value)).toEqual(['two']);
  const barsOf = (history: LoadedHistory) => lanesOf(history, DOMAIN).map((lane) => lane.bars);
  expect(barsOf(after)).toEqual(barsOf(now));
});

const bar = fc
  .tuple(fc.constantFrom('a', 'b', 'c'), fc.nat(50), fc.option(fc.nat(20), { nil: null }))
  .map(([name, from, length]) => {
    return { value: name, from, lastSeen: from, to: length === null ? null : from + length + 1 };
  });
const bars = fc.array(bar).map((all) => all.toSorted((one, other) => one.from - other.from));
const laneOf = (of: Lane['bars']): Lane => ({
  ...{ id: 'x', kind: 'records', name: 'A', owner: DOMAIN, bars: of },
  values: of.filter(({ value }, at) => of.findIndex((bar) => bar.value === value) === at),
});

test('the rows of a lane never have two bars in one place, and are as many as bars at once', () => {
  fc.assert(
    fc.property(bars, (all) => {
      const { count, rowOf } = compactRows(laneOf(all));
      const endOf = (to: number | null) => to ?? Number.POSITIVE_INFINITY;
      for (const [one, { to }] of all.entries()) {
        for (const [other, next] of all.entries())
          if (other > one && rowOf[one] === rowOf[other]) expect(endOf(to)).toBeLessThanOrEqual(next.from);
      }
      const atOnce = all.map(
        ({ from }) => all.filter((each) => each.from <= from && endOf(each.to) > from).length,
      );
      expect(count).toBe(Math.max(1, ...atOnce));
    }),
  );
});

test('the rows of a lane are one for each value where it is opened', () => {
  const all = [
    { value: 'a', from: 0, lastSeen: 1, to: 2 },
    { value: 'b', from: 1, lastSeen: 2, to: 3 },
    { value: 'a', from: 4, lastSeen: 5, to: null },
  ];
  expect(rowsByValue(laneOf(all))).toEqual({ count: 2, rowOf: [0, 1, 0] });
});
