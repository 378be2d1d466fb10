import fc from 'fast-check';
import { expect, test } from 'vitest';
import { COF } from '../../src/exporters/cof.js';
import { createCofParser } from '../../src/importers/cof.js';
import { parseDnsRecord } from '../../src/model/dns-record.js';
import { typeName } from '../../src/model/dns-types.js';
import { parseInstant } from '../../src/model/instant.js';
import { parseCofLine } from '../support/cof.js';
import { dnsRecordInput } from '../support/dns-record-inputs.js';
import { exportHistory, historyOf } from '../support/histories.js';
import { observation } from '../support/observations.js';

const NOW = parseInstant('2026-01-01T00:00:00Z');

function objectsOf(...parts: readonly Parameters<typeof observation>[0][]) {
  return exportHistory(COF, historyOf(parts.map(observation))).lines.map(parseCofLine);
}

test('any record is a line of passive DNS that the draft allows, and the record itself, or is counted as left out', () => {
  fc.assert(
    fc.property(dnsRecordInput, (input) => {
      const record = parseDnsRecord(input);
      const { lines, omitted } = exportHistory(COF, historyOf([observation({ at: 0, records: [input] })]));
      expect(lines.length + (omitted.class ?? 0) + (omitted.unpresentable ?? 0)).toBe(1);
      for (const line of lines) {
        const { rrname: host, rrtype, rdata } = parseCofLine(line);
        const type = typeof rrtype === 'number' ? typeName(rrtype) : rrtype;
        const [data] = rdata as readonly string[];
        expect(parseDnsRecord({ host, class: 'IN', type, data })).toEqual(record);
        const [sighted] = createCofParser()(line, NOW).observations;
        expect([...(sighted?.dns?.records.values() ?? [])].flat()).toEqual([record]);
      }
    }),
  );
});

test('a record of the root, exported as passive DNS, is imported again, for the domain at which it was observed', () => {
  const input = { host: '.', class: 'IN', type: 'NS', target: 'ns.example' };
  const { lines } = exportHistory(COF, historyOf([observation({ at: 0, records: [input] })]));
  expect(lines.map((line) => parseCofLine(line)['rrname'])).toEqual(['.']);
  const [sighted] = createCofParser()(lines.join(''), NOW).observations;
  expect(sighted).toMatchObject({ domain: 'example.com' });
});

test('a stay is a line of passive DNS with its own times: to the last observation before the removal, or the latest of the type', () => {
  const stays = objectsOf(
    { at: 0.25, records: ['192.0.2.1'], source: 'probe' },
    { at: 10, records: ['192.0.2.1'] },
    { at: 20, records: [] },
    { at: 30, records: ['192.0.2.1'] },
    { at: 40, headers: { server: 'a' } },
    { at: 50.5, records: ['192.0.2.1'], types: ['A'] },
  );
  const start = Date.UTC(2024, 0, 1);
  const stay = (first: number, last: number) => ({
    ...{ rrname: 'example.com', rrtype: 'A', rdata: ['192.0.2.1'] },
    ...{ time_first: start / 1000 + Math.floor(first), time_last: start / 1000 + Math.floor(last) },
    ...{ time_first_ms: start + first * 1000, time_last_ms: start + last * 1000 },
  });
  expect(stays).toEqual([{ ...stay(0.25, 10), sensor_id: 'probe' }, stay(30, 50.5)]);
});

test('times of passive DNS before 1970 are the second that had begun', () => {
  const seconds = Date.UTC(1969, 11, 31, 23, 59, 58) / 1000 + 0.5;
  const [stay] = objectsOf({ at: seconds - Date.UTC(2024, 0, 1) / 1000, records: ['192.0.2.1'] });
  expect(stay).toMatchObject({ time_first: -2, time_first_ms: -1500 });
});

test('HTTP headers and records of other classes than IN are left out of passive DNS, and counted', () => {
  const chaos = { host: 'version.bind', class: 'CH', type: 'TXT', txt: '9' };
  const history = historyOf([
    observation({ at: 0, records: [chaos], headers: { server: 'a', via: 'b' } }),
    observation({ at: 1, headers: { server: 'b' } }),
  ]);
  expect(exportHistory(COF, history)).toEqual({ lines: [], omitted: { class: 1, header: 2 } });
});
