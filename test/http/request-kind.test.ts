import { expect, test } from 'vitest';
import { requestKinds } from '../../src/http/request-kind.js';

test('below a base path, a request counts as its operation, and what no API answers as a page', () => {
  const kindOf = requestKinds('/dms');
  expect(kindOf('/dms/graphql')).toMatchObject({ operation: 'query', route: '/dms/graphql' });
  const route = '/dms/api/v1/changes';
  expect(kindOf(route)).toMatchObject({ api: 'rest', operation: 'Changes', route });
  expect(kindOf('/dms/api/v1/nothing')).toEqual({ api: 'rest', operation: 'unknown' });
  for (const path of ['/favicon.ico', '/api/v1/changes', '/dms/api/v1/docs', '/dms/graphql/a'])
    expect(kindOf(path)).toEqual({ api: 'page', operation: 'page' });
});
