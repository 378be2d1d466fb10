import { readFileSync } from 'node:fs';
import type { Route } from '../routes.js';
import type { ProblemStatus } from './problems.js';

/** Answers by the name of the domain that is asked for. */
export type Examples = Readonly<Record<string, unknown>>;

/** The domains that the examples of refusals and failures ask for: recorded, not recorded, and none. */
export const SAMPLE_DOMAIN = 'example.com';
export const UNKNOWN_DOMAIN = 'nothing.example';
export const INVALID_DOMAIN = '192.0.2.7';

/** In src/, whether this runs from there or from dist/: only TypeScript is compiled. */
const FOLDER = new URL('../../../../src/rest/v1/openapi/examples/', import.meta.url);

/** What an operation answers for domains of the sample observations: examples/<operationId>.json. */
export function foundExamples({ operationId }: Route): Examples {
  return JSON.parse(readFileSync(new URL(`${operationId}.json`, FOLDER), 'utf8'));
}

/** What an operation answers with a status other than 200. */
export function problemExamples(route: Route, status: ProblemStatus): Examples {
  const all: Readonly<Record<string, Examples>> = JSON.parse(
    readFileSync(new URL('problems.json', FOLDER), 'utf8'),
  );
  const text = JSON.stringify(all[status] ?? {}).replaceAll('{scope}', route.scope ?? '');
  return JSON.parse(text);
}
