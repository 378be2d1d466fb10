import { numbered } from './dns-types.js';
import { location } from './location.js';
import {
  characterString,
  characterStrings,
  type FieldCodec,
  integer,
  ipv4,
  ipv6,
  name,
  type RdataCodec,
  type RdataFieldKind,
  remaining,
  remainingString,
  tag,
  uint8,
  uint16,
  uint32,
} from './rdata-codec.js';
import {
  ALGORITHMS,
  addressPrefixes,
  algorithm,
  DIGESTS,
  digest,
  hashedOwner,
  ipsecKey,
  multicastRelay,
  oldKey,
  PUBLIC_KEY,
  salt,
  separated,
  time,
  typeBitmap,
  typeCovered,
} from './rdata-fields.js';
import { serviceParameters } from './service-parameters.js';

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

const HEX = remaining('hex');
const BASE64 = remaining('base64');
/** RFC 4398, section 2.1. */
const CERTIFICATE_TYPES = numbered([1, 'PKIX SPKI PGP IPKIX ISPKI IPGP ACPKIX IACPKIX'], [253, 'URI OID']);

/** The types whose rdata are shown as a master file has them, and their rdata from front to end. */
const PRESENTED_TYPES: readonly (readonly [types: string, layout: readonly RdataCodec[]])[] = [
  ['MD MF MB MG MR NSAP-PTR DNAME', [name]],
  ['MINFO RP TALINK', [name, name]],
  ['AFSDB RT KX LP', [uint16, name]],
  ['PX', [uint16, name, name]],
  // RFC 4034, section 3, and RFC 2535, section 4.
  ['SIG RRSIG', [typeCovered, algorithm, uint8, uint32, time, time, uint16, name, BASE64]],
  ['KEY', [oldKey]],
  ['LOC', [location]],
  ['CERT', [integer(2, CERTIFICATE_TYPES, true), uint16, integer(1, ALGORITHMS, true), BASE64]],
  ['APL', [addressPrefixes]],
  // RFC 4034, section 5; lengths of RFC 4034 (5.1.4), RFC 4509 and RFC 6605. BIND knows none for GOST.
  ['DS CDS TA DLV', [uint16, algorithm, digest({ 1: 20, 2: 32, 4: 48 }, 1, DIGESTS)]],
  // RFC 4255, section 3.1, and RFC 6594.
  ['SSHFP', [uint8, digest({ 1: 20, 2: 32 }, 0)]],
  ['IPSECKEY', [ipsecKey]],
  ['NSEC', [name, typeBitmap(1)]],
  ['DNSKEY RKEY CDNSKEY', PUBLIC_KEY],
  ['DHCID OPENPGPKEY HHIT BRID', [BASE64]],
  ['NSEC3', [uint8, uint8, uint16, salt, hashedOwner, typeBitmap(0)]],
  ['NSEC3PARAM', [uint8, uint8, uint16, salt]],
  ['TLSA SMIMEA', [uint8, uint8, uint8, HEX]],
  ['NINFO SPF AVC RESINFO WALLET', [characterStrings]],
  ['CSYNC', [uint32, uint16, typeBitmap(0)]],
  // RFC 8976, section 2; the digest of a private algorithm has 12 octets at least (2.2.4).
  ['ZONEMD', [uint32, uint8, digest({ 1: 48, 2: 64 }, 12)]],
  ['SVCB HTTPS', [uint16, name, serviceParameters]],
  ['DSYNC', [typeCovered, integer(1, numbered([1, 'NOTIFY']), true), uint16, name]],
  ['NID L64', [uint16, separated(':', 4, 4, 1)]],
  ['L32', [uint16, ipv4]],
  ['EUI48', [separated('-', 6, 2, 2)]],
  ['EUI64', [separated('-', 8, 2, 2)]],
  ['URI', [uint16, uint16, remainingString]],
  ['AMTRELAY', [multicastRelay]],
];

/**
 * Types that nobody serves any more. What is observed of them is shown as RFC 3597 says, section 5. Texts in
 * the presentation that each once had stay as they are, so that histories, exports and backups can be read.
 */
export const RETIRED_TYPES: ReadonlySet<string> = new Set(
  'WKS X25 ISDN NSAP GPOS NXT EID NIMLOC ATMA A6 SINK HIP DOA'.split(' '),
);

export interface RdataField {
  /** In the specification's data object. */
  readonly name: string;
  readonly graphqlName: string;
  readonly kind: RdataFieldKind;
  /** Its place in the rdata; null: it follows from the other fields, or is all of the rdata. */
  readonly codec: FieldCodec | null;
}

/** The one field of every type without fields of its own. */
export const OTHER_RDATA_FIELDS: readonly RdataField[] = [
  { name: 'data', graphqlName: 'data', kind: 'presentation', codec: null },
];

/** The own fields of each type that has some, in their order. All other types have OTHER_RDATA_FIELDS. */
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

/** The own fields of a type (upper case) in their order. */
export function rdataFields(type: string): readonly RdataField[] {
  return RDATA_FIELDS.get(type) ?? OTHER_RDATA_FIELDS;
}

type GraphqlType = (typeof TYPES_WITH_FIELDS)[keyof typeof TYPES_WITH_FIELDS][0] | 'OtherRecord';

const GRAPHQL_TYPES: ReadonlyMap<string, GraphqlType> = new Map(
  Object.entries(TYPES_WITH_FIELDS).map(([type, [graphqlType]]) => [type, graphqlType]),
);

/** The GraphQL type of a DNS type's entries: a member of the union DnsRecord. */
export function graphqlTypeOf(type: string): GraphqlType {
  return GRAPHQL_TYPES.get(type) ?? 'OtherRecord';
}

export const LAYOUTS: ReadonlyMap<string, readonly RdataCodec[]> = new Map(
  PRESENTED_TYPES.flatMap(([types, layout]) => types.split(' ').map((type) => [type, layout] as const)),
);
