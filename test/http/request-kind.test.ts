import { expect, test } from 'vitest';
import { requestKinds } from '../../src/http/request-kind.js';

test.each(['', '/dms'])('what pages are made of is counted as pages, below the base path %j', (basePath) => {
  const kinds = requestKinds(basePath);
  const counted = (path: string) => {
    const { api, operation, route } = kinds.of(path);
    return [api, operation, route];
  };
  const asset = ['page', 'asset', `${basePath}/assets/{file}`];
  expect(counted(`${basePath}/assets/swagger-ui/swagger-ui.css`)).toEqual(asset);
  expect(counted(`${basePath}/assets/there-is-none`)).toEqual(asset);
  expect(counted('/favicon.ico')).toEqual(['page', 'asset', '/favicon.ico']);
  for (const path of ['/.well-known/api-catalog', `${basePath}/.well-known/api-catalog`]) {
    expect(counted(path)).toEqual(['page', 'api-catalog', path]);
  }
  for (const path of [`${basePath}/schema.graphql`, `${basePath}/possibleTypes.json`]) {
    expect(counted(path)).toEqual(['page', 'schema', path]);
  }
  expect(counted(`${basePath}/assets`)).toEqual(['none', 'unknown', undefined]);
});
