import { expect, test } from 'vitest';
import { requestKinds } from '../../src/http/request-kind.js';

test.each(['', '/dms'])('what no API answers is counted as a page, below the base path %j', (basePath) => {
  const kindOf = requestKinds(basePath);
  const counted = (path: string) => {
    const { api, operation, route } = kindOf(path);
    return [api, operation, route];
  };
  const pages = [
    '/',
    '/assets/a.css',
    '/api/v1/openapi.json',
    '/api/v1/docs',
    '/schema.graphql',
    '/graphql/a',
  ];
  for (const path of ['/favicon.ico', ...pages.map((each) => basePath + each)]) {
    expect([path, counted(path)]).toEqual([path, ['page', 'page', undefined]]);
  }
  expect(counted(`${basePath}/graphql`)).toEqual(['graphql', 'query', `${basePath}/graphql`]);
  expect(counted(`${basePath}/api/v1/changes`)).toEqual(['rest', 'Changes', `${basePath}/api/v1/changes`]);
  expect(counted(`${basePath}/api/v1/nothing`)).toEqual(['rest', 'unknown', undefined]);
});
