import { characterStringOctets, characterStringText, stringsOf } from './character-string.js';
import { InvalidObservationError } from './errors.js';
import { readAt, requireText, requireTexts } from './json-values.js';
import { memoized } from './memoized.js';
import { LARGEST_RDATA } from './rdata-codec.js';
import { parseRdataText } from './rdata-text.js';
import { RDATA_FIELDS, type RdataField } from './rdata-types.js';

type Data = Readonly<Record<string, unknown>>;

/** From a record's data object to the own fields of its type in canonical form, as JSON text. */
export type RdataParser = (data: Data) => string;

/**
 * The parser for the own fields of a type. It throws an InvalidObservationError that names the field, for
 * one that is missing or is not what its kind says, and one for rdata over 65,535 octets. Instead of
 * fields a record may have its rdata as text in `data` (rdata-text.ts).
 *
 * @param type The type's canonical name (dns-types.ts).
 */
export function rdataParser(type: string): RdataParser {
  const fields = RDATA_FIELDS.get(type);
  if (fields === undefined) {
    // The number of types with `data` is not bounded, and each has a cache.
    return cachedParser('data', (data) => dataJson(type, data), type === 'DS' ? undefined : 256);
  }
  const [first] = fields;
  const parseFields = type === 'TXT' ? textJson : (data: Data) => fieldsJson(fields, data);
  const parse = fields.length === 1 && first ? cachedParser(first.name, parseFields) : parseFields;
  return (data) => parse(data['data'] === undefined ? data : fieldsOfData(type, fields, data));
}

function dataJson(type: string, { data }: Data): string {
  return readAt('data', () => JSON.stringify({ data: parseRdataText(type, requireText(data))['data'] }));
}

function fieldsOfData(type: string, fields: readonly RdataField[], data: Data): Data {
  return readAt('data', () => {
    const other = fields.find(({ name }) => data[name] !== undefined);
    if (other === undefined) {
      return { ...parseRdataText(type, requireText(data['data'])), joined: data['joined'] };
    }
    throw new InvalidObservationError(
      `the record has ${other.name} too: write data or the fields of ${type}.`,
    );
  });
}

/** Most records have one text, an address, a name or `data`: with a cache, each costs a look-up. */
function cachedParser(name: string, parse: RdataParser, limit?: number): RdataParser {
  const cached = memoized((text: string) => parse({ [name]: text }), limit);
  return (data) => {
    const value = data[name];
    return typeof value === 'string' ? cached(value) : parse(data);
  };
}

function fieldsJson(fields: readonly RdataField[], data: Data): string {
  const values: Record<string, unknown> = {};
  for (const { name, codec } of fields) values[name] = readAt(name, () => codec?.canonical(data[name]));
  const json = JSON.stringify(values);
  // A UTF-16 unit takes three octets at most: nearly all rdata is short enough by this check alone.
  if (json.length * 3 > LARGEST_RDATA) requireRdataLength(Buffer.byteLength(Object.values(values).join('')));
  return json;
}

function requireRdataLength(octets: number): void {
  if (octets <= LARGEST_RDATA) return;
  throw new InvalidObservationError(`its data is longer than ${LARGEST_RDATA} octets.`);
}

/** After the own fields of a TXT record whose strings were joined before it was read: where they are divided is not known. */
export const JOINED = ',"joined":true}';

/**
 * Both own fields of a TXT record in canonical form, where one is enough: a `txt` alone is one entry,
 * and `entries` alone are joined. Where `joined` says that they are not known, each entry but the last is as long as it can be.
 *
 * @throws InvalidObservationError for fields that are missing, not texts, or an empty list; a `txt` that
 * is not the entries joined; lone surrogates; more than 65,535 octets.
 */
function textJson({ txt, entries, joined = false }: Data): string {
  const isAlone = entries === undefined;
  const given = readAt(isAlone ? 'txt' : 'entries', () =>
    (isAlone ? [requireText(txt)] : requireTexts(entries)).map(characterStringOctets),
  );
  const octets = Buffer.concat(given);
  if (!isAlone && txt !== undefined) {
    readAt('txt', () => requireJoined(requireText(txt), requireTexts(entries), octets));
  }
  const strings = joined === true ? stringsOf(octets) : given;
  // Each character-string has a length octet before it.
  requireRdataLength(octets.length + strings.length);
  if (typeof joined !== 'boolean') throw new InvalidObservationError('joined: it must be true or false.');
  const json = JSON.stringify({
    txt: characterStringText(octets),
    entries: strings.map(characterStringText),
  });
  return joined ? json.slice(0, -1) + JOINED : json;
}

function requireJoined(txt: string, entries: readonly string[], joined: Buffer): void {
  if (txt === entries.join('') || characterStringOctets(txt).equals(joined)) return;
  throw new InvalidObservationError('it is not the entries joined.');
}
