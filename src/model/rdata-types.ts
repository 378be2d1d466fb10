import * as codecs from './rdata-codec.js';

const { characterString, name, uint16, uint32 } = codecs;

/**
 * The types that have fields of their own (specification, 2.3, and PHP's dns_get_record for the types that it
 * leaves open), in the order of answers, which is that of the rdata. Reading and writing rdata, the canonical
 * form, the stored operations and bodies of REST and its OpenAPI document follow from a row; schema.graphql
 * must have a member of the union DnsRecord with its fields.
 */
const TYPES_WITH_FIELDS = {
  A: ['ARecord', { ip: codecs.ipv4 }],
  AAAA: ['AaaaRecord', { ipv6: codecs.ipv6 }],
  NS: ['NsRecord', { target: name }],
  CNAME: ['CnameRecord', { target: name }],
  PTR: ['PtrRecord', { target: name }],
  SOA: [
    'SoaRecord',
    { ...fields('mname rname', name), ...fields('serial refresh retry expire minimum-ttl', uint32) },
  ],
  // `txt` is the entries joined: it has no place of its own in the rdata.
  TXT: ['TxtRecord', { txt: null, entries: codecs.characterStrings }],
  MX: ['MxRecord', { pri: uint16, target: name }],
  SRV: ['SrvRecord', { pri: uint16, weight: uint16, port: uint16, target: name }],
  CAA: ['CaaRecord', { flags: codecs.uint8, tag: codecs.tag, value: codecs.remainingString }],
  NAPTR: [
    'NaptrRecord',
    {
      ...fields('order pref', uint16),
      ...fields('flags services regex', characterString),
      replacement: name,
    },
  ],
  HINFO: ['HinfoRecord', fields('cpu os', characterString)],
} as const satisfies Readonly<
  Record<string, readonly [string, Readonly<Record<string, codecs.FieldCodec | null>>]>
>;

/** Fields of one kind, in the order of their names. */
function fields(names: string, codec: codecs.FieldCodec): Readonly<Record<string, codecs.FieldCodec>> {
  return Object.fromEntries(names.split(' ').map((field) => [field, codec]));
}

/**
 * Types that nobody serves any more. What is observed of them is shown as RFC 3597 says, section 5. Texts in
 * the presentation that each once had stay as they are, so that histories, exports and backups can be read.
 */
export const RETIRED_TYPES: ReadonlySet<string> = new Set(
  'WKS X25 ISDN NSAP GPOS NXT EID NIMLOC ATMA A6 SINK HIP DOA'.split(' '),
);

export interface RdataField {
  readonly name: string;
  readonly graphqlName: string;
  readonly kind: codecs.RdataFieldKind;
  /** Its place in the rdata; null: it follows from the other fields, or is all of the rdata. */
  readonly codec: codecs.FieldCodec | null;
}

export const OTHER_RDATA_FIELDS: readonly RdataField[] = [
  { name: 'data', graphqlName: 'data', kind: 'presentation', codec: null },
];

/** Of each type that has some, in their order. All other types have OTHER_RDATA_FIELDS. */
export const RDATA_FIELDS: ReadonlyMap<string, readonly RdataField[]> = new Map(
  Object.entries(TYPES_WITH_FIELDS).map(([type, [, fields]]) => [
    type,
    Object.entries<codecs.FieldCodec | null>(fields).map(([field, codec]) => ({
      name: field,
      graphqlName: graphqlNameOf(type, field),
      kind: codec?.kind ?? 'characterString',
      codec,
    })),
  ]),
);

function graphqlNameOf(type: string, field: string): string {
  // CAA has flags of another type: a query could not select both.
  if (type === 'NAPTR' && field === 'flags') return 'naptrFlags';
  return field === 'minimum-ttl' ? 'minimumTtl' : field;
}

export function rdataFields(type: string): readonly RdataField[] {
  return RDATA_FIELDS.get(type) ?? OTHER_RDATA_FIELDS;
}

export function parseRdata(rdata: string): Readonly<Record<string, codecs.RdataValue>> {
  return JSON.parse(rdata);
}

type GraphqlType = (typeof TYPES_WITH_FIELDS)[keyof typeof TYPES_WITH_FIELDS][0] | 'OtherRecord';

const GRAPHQL_TYPES: ReadonlyMap<string, GraphqlType> = new Map(
  Object.entries(TYPES_WITH_FIELDS).map(([type, [graphqlType]]) => [type, graphqlType]),
);

export function graphqlTypeOf(type: string): GraphqlType {
  return GRAPHQL_TYPES.get(type) ?? 'OtherRecord';
}
