import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readSettings } from '../../src/config/env.js';

export const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url));

export function textOf(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
}

/**
 * For how many seconds a process may take to stop by the default settings: docs/operating.md#stopping. What kills it has
 * to wait longer.
 */
export const LONGEST_STOP = readSettings({}).shutdownTimeout / 1000 + 15;

export function assignedNames(text: string): string[] {
  return [...text.matchAll(/^([A-Z_]+)=/gm)].map(([, name = '']) => name);
}
