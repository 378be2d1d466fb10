import { GraphQLError } from 'graphql';
import { describe, expect, test } from 'vitest';
import { formatError, maskError } from '../../src/graphql/format-error.js';
import { InvalidDomainError, RateLimitedError, UnavailableError } from '../../src/model/errors.js';

/** What a client gets of an error, and what the log gets. */
function mask(error: unknown) {
  const logged: unknown[] = [];
  return { told: maskError(error, (inside) => logged.push(inside)), logged };
}

const INTERNAL = {
  code: 'INTERNAL',
  message: "Internal error. It is in the server's log.",
};
const UNAVAILABLE = {
  code: 'UNAVAILABLE',
  message: 'The database does not answer. Try again shortly.',
  retryAfter: 5,
};

describe('an error that is written for clients', () => {
  test('keeps its code and its words, however it was wrapped', () => {
    const error = new InvalidDomainError('"-" is not a domain name.');
    const told = { code: 'INVALID_DOMAIN', message: '"-" is not a domain name.' };
    expect(mask(error)).toEqual({ told, logged: [] });
    const wrapped = new GraphQLError('x', { originalError: new GraphQLError('y', { originalError: error }) });
    expect(mask(wrapped)).toEqual({ told, logged: [] });
  });

  test('says when to come back where that is known', () => {
    expect(mask(new RateLimitedError(7)).told).toMatchObject({ code: 'RATE_LIMITED', retryAfter: 7 });
  });
});

describe('a database that is away is UNAVAILABLE, and the log has the reason', () => {
  test('where it takes longer than we wait', () => {
    const error = new UnavailableError();
    expect(mask(error)).toEqual({ told: UNAVAILABLE, logged: [error] });
  });

  test.each([
    ['of Prisma', { code: 'P1001' }],
    ['of Prisma: no connection free', { code: 'P2024' }],
    [
      'of the driver adapter',
      { code: 'P2010', meta: { driverAdapterError: { cause: { kind: 'DatabaseNotReachable' } } } },
    ],
    [
      'of PostgreSQL, through Prisma',
      { code: 'P2010', meta: { driverAdapterError: { cause: { kind: 'postgres', originalCode: '57P01' } } } },
    ],
    ['of PostgreSQL: shutting down', { code: '57P01' }],
    ['of PostgreSQL: starting up', { code: '57P03' }],
    ['of PostgreSQL: too many connections', { code: '53300' }],
    ['of PostgreSQL: a statement that took too long', { code: '57014' }],
    ['of PostgreSQL: connection failure', { code: '08006' }],
    ['of a socket', { code: 'ECONNREFUSED' }],
    ['of a socket that was closed', { code: 'ECONNRESET' }],
  ])('%s', (_case, properties) => {
    const error = Object.assign(new Error('password=secret'), properties);
    expect(mask(error)).toEqual({ told: UNAVAILABLE, logged: [error] });
  });

  test.each([
    'Connection terminated unexpectedly',
    'timeout exceeded when trying to connect',
    'Cannot use a pool after calling end on the pool',
    'Invalid `prisma.$queryRawUnsafe()` invocation:\n\nconnect ENOENT /run/dms/.s.PGSQL.5432',
  ])('%s', (message) => {
    expect(mask(new Error(message)).told).toEqual(UNAVAILABLE);
  });

  test('as the recorder says it', () => {
    expect(mask(new UnavailableError()).told).toMatchObject({ code: 'UNAVAILABLE' });
  });
});

describe('anything else is INTERNAL, and only the log has it', () => {
  test.each([
    ['an error', new Error('relation "secret" does not exist')],
    [
      'an error of Prisma',
      Object.assign(new Error('SELECT secret'), {
        code: 'P2010',
        meta: { driverAdapterError: { cause: { originalCode: '42P01' } } },
      }),
    ],
    ['what is no error', 'secret'],
    ['nothing', undefined],
    ['an error of GraphQL in the execution', new GraphQLError('Cannot return null for secret')],
  ])('%s', (_case, error) => {
    expect(mask(error)).toEqual({ told: INTERNAL, logged: [error] });
  });
});

describe('in a GraphQL response', () => {
  const place = { locations: [{ line: 1, column: 3 }], path: ['domain'] };
  const format = (formatted: Parameters<typeof formatError>[0], error: unknown) =>
    formatError(formatted, error);

  test('an error has its code, its place, and no more', () => {
    const error = new GraphQLError('secret', { originalError: new Error('secret') });
    const formatted = {
      message: 'secret',
      ...place,
      extensions: { code: 'INTERNAL_SERVER_ERROR', stacktrace: ['secret'] },
    };
    expect(format(formatted, error)).toEqual({
      message: INTERNAL.message,
      ...place,
      extensions: { code: 'INTERNAL' },
    });
  });

  test('an error of a client beyond its limit says when to come back', () => {
    const error = new GraphQLError('x', { originalError: new RateLimitedError(9) });
    expect(format({ message: 'x', ...place }, error).extensions).toEqual({
      code: 'RATE_LIMITED',
      retryAfter: 9,
    });
  });

  test('what is wrong with the request stays in the words of GraphQL', () => {
    const error = new GraphQLError('Syntax Error: Unexpected Name "x".');
    const formatted = { message: error.message, extensions: { code: 'GRAPHQL_PARSE_FAILED' } };
    expect(format(formatted, error)).toEqual(formatted);
  });
});
