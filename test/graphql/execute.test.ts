import { type ExecutionResult, execute, parse } from 'graphql';
import { expect, test } from 'vitest';
import type { GraphqlExecutor } from '../../src/graphql/execute.js';
import { PublicError } from '../../src/model/errors.js';
import { databaseOfFile } from '../support/database.js';
import { EVERY_FIELD } from '../support/every-field.js';
import { EVERYTHING, insertEverything } from '../support/every-record-type.js';
import { anonymous, callerOf, executeFreely, openExecutor, withToken } from '../support/graphql-executor.js';

let executor: GraphqlExecutor;

const database = databaseOfFile(async (opened) => {
  executor = openExecutor(opened);
  await insertEverything(opened.pool);
});

const HISTORY = `query ($name: String!) { domain(name: $name) { ${EVERY_FIELD} } }`;
const LIST = `query ($types: [String!]) { domain(name: "${EVERYTHING}") { dnsRecords(types: $types) { __typename } } }`;

/** What a client can tell: the data as JSON, and of each error its place and the code of what was thrown. */
function plain({ data, errors }: ExecutionResult): unknown {
  const told = errors?.map(({ path, originalError }) => {
    return { path, code: originalError instanceof PublicError ? originalError.code : null };
  });
  return JSON.parse(JSON.stringify({ data, errors: told }));
}

test.each([
  ['every type of record', HISTORY, { name: EVERYTHING }],
  ['a variable for a list', LIST, { types: ['a', 'TXT'] }],
  ['a domain that is not recorded', HISTORY, { name: 'nobody.example' }],
  ['an error beside data', `{ a: domain(name: "${EVERYTHING}") { name } b: domain(name: "-") { name } }`, {}],
  [
    'fields of one name in several places',
    `{ domain(name: "${EVERYTHING}") { name name ...F } } fragment F on Domain { httpHeaders { value } httpHeaders { name } }`,
    {},
  ],
  ['a variable that is missing', HISTORY, {}],
  ['a variable of another type', HISTORY, { name: 7 }],
  ['a list with null in it', LIST, { types: [null] }],
])('a compiled operation gives what graphql-js gives: %s', async (_case, source, variables) => {
  const expected = await execute({
    schema: executor.schema,
    document: parse(source),
    contextValue: executor.contextFor(callerOf()),
    variableValues: variables,
  });
  expect(plain(await executeFreely(executor, source, variables))).toEqual(plain(expected));
});

test('an operation that the schema does not allow cannot be prepared', () => {
  expect(() => executor.prepare('{ domain { nonsense } }')).toThrow(/nonsense/);
  expect(() => executor.prepare('{ domain(')).toThrow(/Syntax Error/);
});

test('a token and an address that read alike have budgets of their own', async () => {
  const limited = openExecutor(database, { anonymous: 1, token: 1 });
  for (const viewer of [anonymous('same'), withToken('same')]) {
    await limited.charge({ viewer }, 1);
    await expect(limited.charge({ viewer }, 1)).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    const policy = { name: viewer.kind, limit: 1 };
    expect(viewer.rates).toMatchObject({ policy, counted: { remainingPoints: 0 } });
  }
});
