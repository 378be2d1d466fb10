import { badSetting, splitList } from './parse.js';

/**
 * The origins whose pages may read answers: `*`, every one; a list of origins as browsers send them; empty:
 * none.
 *
 * @throws UsageError for what no browser sends as an origin (RFC 6454, section 6.2).
 */
export function parseCorsOrigins(name: string, value: string): '*' | readonly string[] {
  const parts = splitList(value);
  if (parts.length === 1 && parts[0] === '*') return '*';
  for (const part of parts) requireOrigin(name, value, part);
  return [...new Set(parts)];
}

function requireOrigin(name: string, value: string, part: string): void {
  const url = URL.canParse(part) ? new URL(part) : null;
  if (url !== null && url.origin === part && !part.includes('*')) return;
  if (part.includes('*')) {
    throw badSetting(name, value, `${part} names no single origin; name each one, or write * alone for all`);
  }
  const known = url !== null && url.origin !== 'null';
  const advice = known
    ? `write ${url.origin} in the place of ${part}`
    : `${part} is no origin; write origins between commas, such as https://app.example, http://localhost:3000, or * alone`;
  throw badSetting(name, value, advice);
}
