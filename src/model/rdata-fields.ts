import {
  characterString,
  characterStrings,
  ipv4,
  ipv6,
  name,
  type OwnCodec,
  remainingString,
  stringLike,
  uint8,
  uint16,
  uint32,
} from './rdata-codec.js';

/** What a field of a record's data holds; addresses and names in canonical form. */
export type RdataFieldKind =
  | 'ipv4'
  | 'ipv6'
  | 'hostName'
  | 'integer' // 0 to 4294967295, in JSON a number
  | 'text' // any, as it was given
  | 'characterString' // of TXT data (character-string.ts)
  | 'characterStrings'
  | 'presentation'; // rdata as a master file has it (rdata-text.ts)

/** A field of a type's own. */
export interface RdataField {
  /** In the specification's data object. */
  readonly name: string;
  readonly graphqlName: string;
  readonly kind: RdataFieldKind;
  /** Its place in the rdata; null: it follows from the other fields, or is all of the rdata. */
  readonly codec: OwnCodec | null;
}

type Fields = Readonly<Record<string, Pick<RdataField, 'kind'> & Partial<RdataField>>>;

/** A type that has fields of its own, and the GraphQL type of its entries. */
type Row = { readonly graphqlType: string; readonly fields: Fields };

const HOST_NAME = { kind: 'hostName', codec: name } as const;
const UINT8 = { kind: 'integer', codec: uint8 } as const;
const UINT16 = { kind: 'integer', codec: uint16 } as const;
const UINT32 = { kind: 'integer', codec: uint32 } as const;
const STRING = { kind: 'text', codec: characterString } as const;

/**
 * The types that have fields of their own (specification, 2.3, and PHP's dns_get_record for the types that it
 * leaves open), in the order of answers, which is that of the rdata. Reading and writing rdata, the canonical
 * form, the stored operations and bodies of REST and its OpenAPI document follow from a row; schema.graphql
 * must have a member of the union DnsRecord with its fields.
 */
const ROWS = {
  A: { graphqlType: 'ARecord', fields: { ip: { kind: 'ipv4', codec: ipv4 } } },
  AAAA: { graphqlType: 'AaaaRecord', fields: { ipv6: { kind: 'ipv6', codec: ipv6 } } },
  NS: { graphqlType: 'NsRecord', fields: { target: HOST_NAME } },
  CNAME: { graphqlType: 'CnameRecord', fields: { target: HOST_NAME } },
  PTR: { graphqlType: 'PtrRecord', fields: { target: HOST_NAME } },
  SOA: {
    graphqlType: 'SoaRecord',
    fields: {
      mname: HOST_NAME,
      rname: HOST_NAME,
      serial: UINT32,
      refresh: UINT32,
      retry: UINT32,
      expire: UINT32,
      'minimum-ttl': { ...UINT32, graphqlName: 'minimumTtl' },
    },
  },
  TXT: {
    graphqlType: 'TxtRecord',
    fields: {
      txt: { kind: 'characterString' },
      entries: { kind: 'characterStrings', codec: characterStrings },
    },
  },
  MX: { graphqlType: 'MxRecord', fields: { pri: UINT16, target: HOST_NAME } },
  SRV: {
    graphqlType: 'SrvRecord',
    fields: { pri: UINT16, weight: UINT16, port: UINT16, target: HOST_NAME },
  },
  CAA: {
    graphqlType: 'CaaRecord',
    fields: {
      flags: UINT8,
      // RFC 8659, section 4.1: letters and digits, at least one; other octets occur.
      tag: { kind: 'text', codec: stringLike(/./s) },
      value: { kind: 'text', codec: remainingString },
    },
  },
  NAPTR: {
    graphqlType: 'NaptrRecord',
    fields: {
      order: UINT16,
      pref: UINT16,
      // CAA has flags of another type: a query could not select both.
      flags: { ...STRING, graphqlName: 'naptrFlags' },
      services: STRING,
      regex: STRING,
      replacement: HOST_NAME,
    },
  },
  HINFO: { graphqlType: 'HinfoRecord', fields: { cpu: STRING, os: STRING } },
} as const satisfies Readonly<Record<string, Row>>;

/** The own fields of each type that has some, in their order. All other types have OTHER_RDATA_FIELDS. */
export const RDATA_FIELDS: ReadonlyMap<string, readonly RdataField[]> = new Map(
  Object.entries(ROWS).map(([type, { fields }]) => [type, fieldsOf(fields)]),
);

/** The one field of every type without fields of its own. */
export const OTHER_RDATA_FIELDS: readonly RdataField[] = fieldsOf({ data: { kind: 'presentation' } });

function fieldsOf(fields: Fields): readonly RdataField[] {
  return Object.entries(fields).map(([name, field]) => ({ name, graphqlName: name, codec: null, ...field }));
}

/** The own fields of a type (upper case) in their order. */
export function rdataFields(type: string): readonly RdataField[] {
  return RDATA_FIELDS.get(type) ?? OTHER_RDATA_FIELDS;
}

type GraphqlType = (typeof ROWS)[keyof typeof ROWS]['graphqlType'] | 'OtherRecord';

const GRAPHQL_TYPES: ReadonlyMap<string, GraphqlType> = new Map(
  Object.entries(ROWS).map(([type, { graphqlType }]) => [type, graphqlType]),
);

/** The GraphQL type of a DNS type's entries: a member of the union DnsRecord. */
export function graphqlTypeOf(type: string): GraphqlType {
  return GRAPHQL_TYPES.get(type) ?? 'OtherRecord';
}
