import { PRESENTED_TYPES } from './presented-types.js';
import * as codecs from './rdata-codec.js';

/**
 * The types that have fields of their own (specification, 2.3, and PHP's dns_get_record for the types that it
 * leaves open), in the order of answers, which is that of the rdata. Reading and writing rdata, the canonical
 * form, the stored operations and bodies of REST and its OpenAPI document follow from a row; schema.graphql
 * must have a member of the union DnsRecord with its fields.
 */
const TYPES_WITH_FIELDS = {
  A: ['ARecord', { ip: codecs.ipv4 }],
  AAAA: ['AaaaRecord', { ipv6: codecs.ipv6 }],
  NS: ['NsRecord', { target: codecs.name }],
  CNAME: ['CnameRecord', { target: codecs.name }],
  PTR: ['PtrRecord', { target: codecs.name }],
  SOA: [
    'SoaRecord',
    {
      mname: codecs.name,
      rname: codecs.name,
      serial: codecs.uint32,
      refresh: codecs.uint32,
      retry: codecs.uint32,
      expire: codecs.uint32,
      'minimum-ttl': codecs.uint32,
    },
  ],
  // `txt` is the entries joined: it has no place of its own in the rdata.
  TXT: ['TxtRecord', { txt: null, entries: codecs.characterStrings }],
  MX: ['MxRecord', { pri: codecs.uint16, target: codecs.name }],
  SRV: ['SrvRecord', { pri: codecs.uint16, weight: codecs.uint16, port: codecs.uint16, target: codecs.name }],
  CAA: ['CaaRecord', { flags: codecs.uint8, tag: codecs.tag, value: codecs.remainingString }],
  NAPTR: [
    'NaptrRecord',
    {
      order: codecs.uint16,
      pref: codecs.uint16,
      flags: codecs.characterString,
      services: codecs.characterString,
      regex: codecs.characterString,
      replacement: codecs.name,
    },
  ],
  HINFO: ['HinfoRecord', { cpu: codecs.characterString, os: codecs.characterString }],
} as const satisfies Readonly<
  Record<string, readonly [string, Readonly<Record<string, codecs.FieldCodec | null>>]>
>;

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

export const LAYOUTS: ReadonlyMap<string, readonly codecs.RdataCodec[]> = new Map(
  PRESENTED_TYPES.flatMap(([types, layout]) => types.split(' ').map((type) => [type, layout] as const)),
);
