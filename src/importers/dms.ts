import { parseDomainName } from '../model/domain-name.js';
import type { Instant } from '../model/instant.js';
import { isJsonObject, readAt, requireText, unknownKey } from '../model/json-values.js';
import type { Observation } from '../model/observation.js';
import { parseDmsBody } from './dms-body.js';
import { LatestLines } from './dms-latest.js';
import { parseJsonLine } from './json-line.js';
import { parseObservedAt } from './observed-at.js';
import { refuseRepeatedKeys } from './repeated-key.js';

const KEYS: ReadonlySet<string> = new Set([
  'domain',
  'observedAt',
  'dnsRecords',
  'dnsTypes',
  'httpHeaders',
  'source',
]);

/** How a line begins where its domain and its time come first and without escapes. */
const HEAD = /^\{"domain": ?"([\w.-]+)", ?"observedAt": ?"([\w:.+-]+)", ?(?=")/;

const latestLines = new LatestLines();

/**
 * An observation from a line of format `dms`: one JSON object with the keys `domain`, `observedAt`, and
 * optionally `dnsRecords` (the complete set of records), `dnsTypes` (the types that it is complete for),
 * `httpHeaders` (name to value or values) and `source`. Lines of one domain that differ only in their
 * times may give the same `dns` and `httpHeaders` objects.
 *
 * @param now The present, which no observation may be ahead of by more than five minutes.
 * @throws InvalidObservationError for every line that cannot be taken as a whole. The message, one line,
 * names the key and the reason.
 */
export function parseDmsLine(line: string, now: Instant): Observation {
  const head = HEAD.exec(line);
  return (head && parseAfterHead(head, now)) ?? parseWhole(line, now);
}

/** Null for a line that parseWhole must judge: it is not JSON, or names its domain or time again. */
function parseAfterHead(head: RegExpExecArray, now: Instant): Observation | null {
  const [{ length }, name = '', time = ''] = head;
  const observedAt = parseObservedAt('observedAt', time, now);
  const text = head.input.slice(length);
  const latest = latestLines.get(name, text);
  if (latest !== undefined) return { domain: latest.domain, observedAt, ...latest.body };

  const json = `{${text}`;
  const object = parseJsonOrNull(json);
  if (!isJsonObject(object) || 'domain' in object || 'observedAt' in object) return null;
  refuseRepeatedKeys(json, object);
  refuseUnknownKeys(object);
  const line = { domain: parseName(name), text, body: parseDmsBody(object) };
  latestLines.set(name, line);
  return { domain: line.domain, observedAt, ...line.body };
}

function parseWhole(line: string, now: Instant): Observation {
  const object = parseJsonLine(line);
  refuseUnknownKeys(object);
  const domain = parseName(object['domain']);
  const observedAt = parseObservedAt('observedAt', object['observedAt'], now);
  return { domain, observedAt, ...parseDmsBody(object) };
}

function parseName(value: unknown): string {
  return readAt('domain', () => parseDomainName(requireText(value)));
}

function refuseUnknownKeys(object: Readonly<Record<string, unknown>>): void {
  for (const key in object) {
    if (!KEYS.has(key)) throw unknownKey(key, KEYS);
  }
}

function parseJsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
