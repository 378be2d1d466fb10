/**
 * What a field of a record's data holds:
 * - `ipv4`, `ipv6`: an address in canonical form (ip-address.ts);
 * - `hostName`: a name in canonical form (host-name.ts);
 * - `integer`: 0 to 4294967295, in JSON a number;
 * - `text`: any text, as it was given;
 * - `characterString`, `characterStrings`: a text, or a list of texts, of TXT data (character-string.ts);
 * - `presentation`: rdata as a master file has it (rdata-text.ts).
 */
export type RdataFieldKind =
  | 'ipv4'
  | 'ipv6'
  | 'hostName'
  | 'integer'
  | 'text'
  | 'characterString'
  | 'characterStrings'
  | 'presentation';

/** A field of a type's own: its name in the specification's data object, and what it holds. */
export interface RdataField {
  readonly name: string;
  readonly kind: RdataFieldKind;
}

function fields(kinds: Readonly<Record<string, RdataFieldKind>>): readonly RdataField[] {
  return Object.entries(kinds).map(([name, kind]) => ({ name, kind }));
}

/**
 * The own fields of each type that has some (specification, 2.3, and PHP's dns_get_record for the types
 * that it leaves open), in the order of answers. All other types have OTHER_RDATA_FIELDS.
 */
export const RDATA_FIELDS: ReadonlyMap<string, readonly RdataField[]> = new Map([
  ['A', fields({ ip: 'ipv4' })],
  ['AAAA', fields({ ipv6: 'ipv6' })],
  ['NS', fields({ target: 'hostName' })],
  ['CNAME', fields({ target: 'hostName' })],
  ['PTR', fields({ target: 'hostName' })],
  [
    'SOA',
    fields({
      mname: 'hostName',
      rname: 'hostName',
      serial: 'integer',
      refresh: 'integer',
      retry: 'integer',
      expire: 'integer',
      'minimum-ttl': 'integer',
    }),
  ],
  ['TXT', fields({ txt: 'characterString', entries: 'characterStrings' })],
  ['MX', fields({ pri: 'integer', target: 'hostName' })],
  ['SRV', fields({ pri: 'integer', weight: 'integer', port: 'integer', target: 'hostName' })],
  ['CAA', fields({ flags: 'integer', tag: 'text', value: 'text' })],
  [
    'NAPTR',
    fields({
      order: 'integer',
      pref: 'integer',
      flags: 'text',
      services: 'text',
      regex: 'text',
      replacement: 'hostName',
    }),
  ],
  ['HINFO', fields({ cpu: 'text', os: 'text' })],
]);

/** The one field of every type without fields of its own. */
export const OTHER_RDATA_FIELDS: readonly RdataField[] = fields({ data: 'presentation' });

/** The own fields of a type (upper case) in their order. */
export function rdataFields(type: string): readonly RdataField[] {
  return RDATA_FIELDS.get(type) ?? OTHER_RDATA_FIELDS;
}
