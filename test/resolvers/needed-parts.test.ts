import { buildSchema, executeSync, type GraphQLResolveInfo, parse } from 'graphql';
import { expect, test } from 'vitest';
import { neededParts } from '../../src/resolvers/needed-parts.js';

const schema = buildSchema(`
  type Query { domain: Domain }
  type Domain { name: String dnsRecords: Int httpHeaders: Int dnsRecordCount: Int changeCount: Int parts: Int diff: Diff changes: Diff }
  type Diff { dnsRecordsAdded: Entry lastSeen: Int }
  type Entry { lastSeen: Int }
`);

/** The parts that a query of `domain` needs. */
function partsOf(source: string) {
  const needed: ReturnType<typeof neededParts>[] = [];
  const domain = (_args: unknown, _context: unknown, info: GraphQLResolveInfo) => {
    needed.push(neededParts(info));
    return null;
  };
  expect(executeSync({ schema, document: parse(source), rootValue: { domain } }).errors).toBeUndefined();
  return needed;
}

const NOTHING = { dnsRecords: false, httpHeaders: false, counts: false, times: false };

test.each([
  ['{ domain { name } }', NOTHING],
  ['{ domain { name dnsRecords } }', { ...NOTHING, dnsRecords: true }],
  ['{ domain { headers: httpHeaders } }', { ...NOTHING, httpHeaders: true }],
  ['{ domain { changeCount } }', { ...NOTHING, counts: true }],
  ['{ domain { ... { ... on Domain { dnsRecordCount } } } }', { ...NOTHING, counts: true }],
  [
    '{ domain { ...F } } fragment F on Domain { ...G } fragment G on Domain { dnsRecords }',
    { ...NOTHING, dnsRecords: true },
  ],
  [
    '{ domain { name } domain { dnsRecords } ...F } fragment F on Query { domain { httpHeaders } }',
    { ...NOTHING, dnsRecords: true, httpHeaders: true },
  ],
  ['{ domain { parts } }', { ...NOTHING, times: true }],
  [
    '{ domain { ...F } } fragment F on Domain { changes { ...G } } fragment G on Diff { ... { dnsRecordsAdded { lastSeen } } }',
    { ...NOTHING, times: true },
  ],
  ['{ domain { changes { lastSeen } } }', NOTHING],
  ['{ domain { name dnsRecords @skip(if: true) } }', { ...NOTHING, dnsRecords: true }],
])('%s', (source, parts) => {
  expect(partsOf(source)).toEqual([parts]);
});

test('fragments that spread each other twice, sixty deep, are looked into once', () => {
  const fragments = Array.from({ length: 60 }, (_, index) => {
    return `fragment F${index} on Domain { ...F${index + 1} ... { ...F${index + 1} } }`;
  });
  const source = `{ domain { ...F0 } } ${fragments.join(' ')} fragment F60 on Domain { dnsRecords }`;
  expect(partsOf(source)).toEqual([{ ...NOTHING, dnsRecords: true }]);
});
