import { InvalidObservationError } from '../model/errors.js';
import { addHeaderField, joinHeaderFields, textOfOctets } from '../model/header-fields.js';
import { alwaysIgnoring } from '../model/ignored-headers.js';
import { isJsonObject, readAt, requireText } from '../model/json-values.js';
import type { Observation } from '../model/observation.js';
import { type HeaderField, parseResponseHead } from '../model/response-head.js';
import { quoted } from '../model/text.js';

type HeaderObservation = Required<Pick<Observation, 'httpHeaders' | 'ignoredHeaders'>>;

/** Reads the headers of a line; throws InvalidObservationError where it has none that can be taken. */
export type ReadHttpxHeaders = (line: Readonly<Record<string, unknown>>) => HeaderObservation;

/**
 * What Go's HTTP client, which httpx is built on, takes out of a response: the first two where it has
 * unpacked a body that was packed with gzip, the others always, and `raw_header` has only some of them
 * again. Where one is missing, nothing is known of it.
 */
const TAKEN_OUT = ['content-encoding', 'content-length', 'trailer', 'transfer-encoding'];

const NO_HEADERS =
  'it has neither raw_header nor header: run httpx with -irh (-include-response-header), or with -irr ' +
  '(-include-response) for the exact names.';

/**
 * Makes what reads the headers of httpx's lines: from `raw_header`, which is exact, or else from `header`.
 *
 * @param ignored Field names in lower case that are left out.
 */
export function createHttpxHeaders(ignored: ReadonlySet<string>): ReadHttpxHeaders {
  const always = alwaysIgnoring(ignored);
  const unseenSets = new Map<string, ReadonlySet<string>>();
  const unseen = (seen: ReadonlyMap<string, string>) => {
    const missing = TAKEN_OUT.filter((name) => !seen.has(name));
    const key = missing.join();
    const known = unseenSets.get(key) ?? new Set([...always, ...missing]);
    unseenSets.set(key, known);
    return known;
  };
  return (line) => {
    const httpHeaders = readFields(line, always);
    return { httpHeaders, ignoredHeaders: unseen(httpHeaders) };
  };
}

function readFields(
  { raw_header: raw, header }: Readonly<Record<string, unknown>>,
  ignored: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  if (raw !== undefined) return readAt('raw_header', () => joined(rawFields(requireText(raw)), ignored));
  if (header !== undefined) return readAt('header', () => joined(normalizedFields(header, ignored), ignored));
  throw new InvalidObservationError(NO_HEADERS);
}

function joined(fields: readonly HeaderField[], ignored: ReadonlySet<string>): ReadonlyMap<string, string> {
  const values = new Map<string, string[]>();
  for (const [name, value] of fields) {
    if (!ignored.has(name.toLowerCase())) addHeaderField(values, name, value);
  }
  return joinHeaderFields(values);
}

/** How `HTTP/` begins in base64, which -irrb (-include-response-base64) writes. */
const HEAD_IN_BASE64 = /^SFRUUC[8-9+/]/;

function rawFields(head: string): readonly HeaderField[] {
  if (!HEAD_IN_BASE64.test(head)) return parseResponseHead(head).fields;
  const { fields } = parseResponseHead(Buffer.from(head, 'base64').toString('latin1'));
  return fields.map(([name, value]) => [textOfOctets(name), textOfOctets(value)]);
}

/** Every `-` of a name has become `_`; a name that had `_` cannot be told from one that had `-`. */
function normalizedFields(header: unknown, ignored: ReadonlySet<string>): HeaderField[] {
  if (!isJsonObject(header)) throw new InvalidObservationError('it is not an object.');
  return Object.entries(header)
    .filter(([name]) => !ignored.has(name))
    .map(([name, value]) => [name.replaceAll('_', '-'), readAt(quoted(name), () => requireText(value))]);
}
