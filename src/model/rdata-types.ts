import { PRESENTED_TYPES } from './presented-types.js';
import {
  characterString,
  characterStrings,
  type FieldCodec,
  ipv4,
  ipv6,
  name,
  type RdataCodec,
  type RdataFieldKind,
  type RdataValue,
  remainingString,
  tag,
  uint8,
  uint16,
  uint32,
} from './rdata-codec.js';

/**
 * The types that have fields of their own (specification, 2.3, and PHP's dns_get_record for the types that it
 * leaves open), in the order of answers, which is that of the rdata. Reading and writing rdata, the canonical
 * form, the stored operations and bodies of REST and its OpenAPI document follow from a row; schema.graphql
 * must have a member of the union DnsRecord with its fields.
 */
const TYPES_WITH_FIELDS = {
  A: ['ARecord', { ip: ipv4 }],
  AAAA: ['AaaaRecord', { ipv6 }],
  NS: ['NsRecord', { target: name }],
  CNAME: ['CnameRecord', { target: name }],
  PTR: ['PtrRecord', { target: name }],
  SOA: [
    'SoaRecord',
    {
      mname: name,
      rname: name,
      serial: uint32,
      refresh: uint32,
      retry: uint32,
      expire: uint32,
      'minimum-ttl': uint32,
    },
  ],
  // `txt` is the entries joined: it has no place of its own in the rdata.
  TXT: ['TxtRecord', { txt: null, entries: characterStrings }],
  MX: ['MxRecord', { pri: uint16, target: name }],
  SRV: ['SrvRecord', { pri: uint16, weight: uint16, port: uint16, target: name }],
  CAA: ['CaaRecord', { flags: uint8, tag, value: remainingString }],
  NAPTR: [
    'NaptrRecord',
    {
      order: uint16,
      pref: uint16,
      flags: characterString,
      services: characterString,
      regex: characterString,
      replacement: name,
    },
  ],
  HINFO: ['HinfoRecord', { cpu: characterString, os: characterString }],
} as const satisfies Readonly<Record<string, readonly [string, Readonly<Record<string, FieldCodec | null>>]>>;

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
  readonly kind: RdataFieldKind;
  /** Its place in the rdata; null: it follows from the other fields, or is all of the rdata. */
  readonly codec: FieldCodec | null;
}

export const OTHER_RDATA_FIELDS: readonly RdataField[] = [
  { name: 'data', graphqlName: 'data', kind: 'presentation', codec: null },
];

/** Of each type that has some, in their order. All other types have OTHER_RDATA_FIELDS. */
export const RDATA_FIELDS: ReadonlyMap<string, readonly RdataField[]> = new Map(
  Object.entries(TYPES_WITH_FIELDS).map(([type, [, codecs]]) => [
    type,
    Object.entries<FieldCodec | null>(codecs).map(([field, codec]) => ({
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

export function parseRdata(rdata: string): Readonly<Record<string, RdataValue>> {
  return JSON.parse(rdata);
}

type GraphqlType = (typeof TYPES_WITH_FIELDS)[keyof typeof TYPES_WITH_FIELDS][0] | 'OtherRecord';

const GRAPHQL_TYPES: ReadonlyMap<string, GraphqlType> = new Map(
  Object.entries(TYPES_WITH_FIELDS).map(([type, [graphqlType]]) => [type, graphqlType]),
);

export function graphqlTypeOf(type: string): GraphqlType {
  return GRAPHQL_TYPES.get(type) ?? 'OtherRecord';
}

export const LAYOUTS: ReadonlyMap<string, readonly RdataCodec[]> = new Map(
  PRESENTED_TYPES.flatMap(([types, layout]) => types.split(' ').map((type) => [type, layout] as const)),
);
