import {
  addressPrefixes,
  atmAddress,
  ipsecKey,
  multicastRelay,
  networkServiceAddress,
  prefixedAddress,
  separated,
} from './address-codecs.js';
import {
  ALGORITHMS,
  DELEGATION,
  FINGERPRINT,
  hashedOwner,
  hostIdentity,
  oldKey,
  optionalData,
  PUBLIC_KEY,
  salt,
  ZONE_DIGEST,
} from './key-codecs.js';
import { location } from './location.js';
import {
  characterString,
  characterStrings,
  integer,
  ipv4,
  name,
  optional,
  type RdataCodec,
  remaining,
  remainingString,
  stringLike,
  time,
  typeCovered,
  uint8,
  uint16,
  uint32,
} from './rdata-codec.js';
import { serviceParameters } from './service-parameters.js';
import { oldTypeBitmap, typeBitmap, wellKnownServices } from './type-bitmap.js';

const HEX = remaining('hex');
const BASE64 = remaining('base64');
const algorithm = integer(1, ALGORITHMS);
const CERTIFICATE = [uint8, uint8, uint8, HEX];
/** RFC 4034, section 3, and RFC 2535, section 4. */
const SIGNATURE = [typeCovered, algorithm, uint8, uint32, time, time, uint16, name, BASE64];
const SERVICE = [uint16, name, serviceParameters];
const PREFERENCE = [uint16, name];
/** RFC 4398, section 2.1. */
const CERTIFICATE_TYPES = {
  ...{ PKIX: 1, SPKI: 2, PGP: 3, IPKIX: 4, ISPKI: 5, IPGP: 6, ACPKIX: 7, IACPKIX: 8, URI: 253, OID: 254 },
};

/** Types that have a presentation, but no row in rdata-fields.ts, and their rdata from front to end. */
const ROWS: readonly (readonly [types: string, layout: readonly RdataCodec[]])[] = [
  ['MD MF MB MG MR NSAP-PTR DNAME', [name]],
  ['WKS', [wellKnownServices]],
  ['MINFO RP TALINK', [name, name]],
  ['AFSDB RT KX LP', PREFERENCE],
  ['X25', [stringLike(/^\d{4,}$/)]],
  ['ISDN', [characterString, optional(characterString)]],
  ['NSAP', [networkServiceAddress]],
  ['SIG RRSIG', SIGNATURE],
  ['KEY', [oldKey]],
  ['PX', [uint16, name, name]],
  ['GPOS', [characterString, characterString, characterString]],
  ['LOC', [location]],
  ['NXT', [name, oldTypeBitmap]],
  ['EID NIMLOC', [HEX]],
  ['ATMA', [atmAddress]],
  ['CERT', [integer(2, CERTIFICATE_TYPES, true), uint16, integer(1, ALGORITHMS, true), BASE64]],
  ['A6', [prefixedAddress]],
  ['SINK', [uint8, uint8, uint8, remaining('base64', 0)]],
  ['APL', [addressPrefixes]],
  ['DS CDS TA DLV', DELEGATION],
  ['SSHFP', FINGERPRINT],
  ['IPSECKEY', [ipsecKey]],
  ['NSEC', [name, typeBitmap(1)]],
  ['DNSKEY RKEY CDNSKEY', PUBLIC_KEY],
  ['DHCID OPENPGPKEY HHIT BRID', [BASE64]],
  ['NSEC3', [uint8, uint8, uint16, salt, hashedOwner, typeBitmap(0)]],
  ['NSEC3PARAM', [uint8, uint8, uint16, salt]],
  ['TLSA SMIMEA', CERTIFICATE],
  ['HIP', [hostIdentity]],
  ['NINFO SPF AVC RESINFO WALLET', [characterStrings]],
  ['CSYNC', [uint32, uint16, typeBitmap(0)]],
  ['ZONEMD', ZONE_DIGEST],
  ['SVCB HTTPS', SERVICE],
  ['DSYNC', [typeCovered, integer(1, { NOTIFY: 1 }, true), uint16, name]],
  ['NID L64', [uint16, separated(':', 4, 4, 1)]],
  ['L32', [uint16, ipv4]],
  ['EUI48', [separated('-', 6, 2, 2)]],
  ['EUI64', [separated('-', 8, 2, 2)]],
  ['URI', [uint16, uint16, remainingString]],
  // draft-durand-doa-over-dns: enterprise, type, location, media type, and data.
  ['DOA', [uint32, uint32, uint8, characterString, optionalData]],
  ['AMTRELAY', [multicastRelay]],
];

/** The layouts of ROWS by their types. */
export const LAYOUTS: ReadonlyMap<string, readonly RdataCodec[]> = new Map(
  ROWS.flatMap(([types, layout]) => types.split(' ').map((type) => [type, layout] as const)),
);
