import { GraphQLError } from 'graphql';
import { expect, test } from 'vitest';
import { formatError, maskError } from '../../src/graphql/format-error.js';
import { InvalidDomainError, RateLimitedError, UnavailableError } from '../../src/model/errors.js';

function mask(error: unknown) {
  const logged: unknown[] = [];
  return { told: maskError(error, (inside) => logged.push(inside)), logged };
}

const INTERNAL = { code: 'INTERNAL', message: "Internal error. It is in the server's log." };
const AWAY = 'The database does not answer. Try again shortly.';
const UNAVAILABLE = { code: 'UNAVAILABLE', message: AWAY, retryAfter: 5 };

const ofAdapter = (cause: object) => ({ code: 'P2010', meta: { driverAdapterError: { cause } } });
const errorWith = (properties: object) => Object.assign(new Error('password=secret'), properties);

test('an error that is written for clients keeps its code and its words, however it was wrapped', () => {
  const error = new InvalidDomainError('"-" is not a domain name.');
  const wrapped = new GraphQLError('x', { originalError: new GraphQLError('y', { originalError: error }) });
  const told = { code: 'INVALID_DOMAIN', message: '"-" is not a domain name.' };
  for (const each of [error, wrapped]) expect(mask(each)).toEqual({ told, logged: [] });
});

test('an error says when to come back where that is known', () => {
  expect(mask(new RateLimitedError(7)).told).toMatchObject({ code: 'RATE_LIMITED', retryAfter: 7 });
});

test.each([
  ['where it takes longer than we wait', new UnavailableError()],
  ['of Prisma', errorWith({ code: 'P1001' })],
  ['of Prisma: no connection free', errorWith({ code: 'P2024' })],
  ['of the driver adapter', errorWith(ofAdapter({ kind: 'DatabaseNotReachable' }))],
  ['of PostgreSQL, through Prisma', errorWith(ofAdapter({ kind: 'postgres', originalCode: '57P01' }))],
  ['of PostgreSQL: shutting down', errorWith({ code: '57P01' })],
  ['of PostgreSQL: starting up', errorWith({ code: '57P03' })],
  ['of PostgreSQL: too many connections', errorWith({ code: '53300' })],
  ['of PostgreSQL: a statement that took too long', errorWith({ code: '57014' })],
  ['of PostgreSQL: connection failure', errorWith({ code: '08006' })],
  ['of a socket', errorWith({ code: 'ECONNREFUSED' })],
  ['of a socket that was closed', errorWith({ code: 'ECONNRESET' })],
  ['by its message', new Error('Connection terminated unexpectedly')],
  ['by its message', new Error('timeout exceeded when trying to connect')],
  ['by its message', new Error('Cannot use a pool after calling end on the pool')],
  ['by its message', new Error('Invalid `prisma.$queryRawUnsafe()` invocation:\n\nconnect ENOENT /run/a')],
])('a database that is away is UNAVAILABLE, and the log has the reason: %s', (_case, error) => {
  expect(mask(error)).toEqual({ told: UNAVAILABLE, logged: [error] });
});

test.each([
  ['an error', new Error('relation "secret" does not exist')],
  ['an error of Prisma', errorWith(ofAdapter({ originalCode: '42P01' }))],
  ['what is no error', 'secret'],
  ['nothing', undefined],
  ['an error of GraphQL in the execution', new GraphQLError('Cannot return null for secret')],
])('anything else is INTERNAL, and only the log has it: %s', (_case, error) => {
  expect(mask(error)).toEqual({ told: INTERNAL, logged: [error] });
});

const PLACE = { locations: [{ line: 1, column: 3 }], path: ['domain'] };

test('an error in a GraphQL response has its code, its place, and no more', () => {
  const error = new GraphQLError('secret', { originalError: new Error('secret') });
  const extensions = { code: 'INTERNAL_SERVER_ERROR', stacktrace: ['secret'] };
  expect(formatError({ message: 'secret', ...PLACE, extensions }, error)).toEqual({
    message: INTERNAL.message,
    ...PLACE,
    extensions: { code: 'INTERNAL' },
  });
});

test('an error in a GraphQL response of a client beyond its limit says when to come back', () => {
  const error = new GraphQLError('x', { originalError: new RateLimitedError(9) });
  const { extensions } = formatError({ message: 'x', ...PLACE }, error);
  expect(extensions).toEqual({ code: 'RATE_LIMITED', retryAfter: 9 });
});

test('what is wrong with the request itself stays in the words of GraphQL', () => {
  const error = new GraphQLError('Syntax Error: Unexpected Name "x".');
  const formatted = { message: error.message, extensions: { code: 'GRAPHQL_PARSE_FAILED' } };
  expect(formatError(formatted, error)).toEqual(formatted);
});
