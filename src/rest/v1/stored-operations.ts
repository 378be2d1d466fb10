import { readFileSync } from 'node:fs';

/** In src/, whether this runs from there or from dist/: only TypeScript is compiled. */
const FOLDER = new URL('../../../src/rest/v1/operations/', import.meta.url);
const FRAGMENTS = new URL('fragments/', FOLDER);

/**
 * The text of a stored operation with the fragments that it spreads, each in the file of its name.
 *
 * @param file Its name in operations/.
 */
export function readStoredOperation(file: string): string {
  const operation = readFileSync(new URL(file, FOLDER), 'utf8');
  const names = new Set([...operation.matchAll(/\.\.\.(\w+)/g)].map(([, name]) => name));
  const fragments = [...names].map((name) => readFileSync(new URL(`${name}.graphql`, FRAGMENTS), 'utf8'));
  return [operation, ...fragments].join('\n');
}
