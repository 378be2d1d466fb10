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
  digitalObject,
  FINGERPRINT,
  hashedOwner,
  hostIdentity,
  oldKey,
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

/** The types that have a presentation, but no row in rdata-fields.ts: their rdata from front to end. */
export const LAYOUTS: ReadonlyMap<string, readonly RdataCodec[]> = new Map<string, readonly RdataCodec[]>([
  ['MD', [name]],
  ['MF', [name]],
  ['MB', [name]],
  ['MG', [name]],
  ['MR', [name]],
  ['WKS', [wellKnownServices]],
  ['MINFO', [name, name]],
  ['RP', [name, name]],
  ['AFSDB', PREFERENCE],
  ['X25', [stringLike(/^"\d{4,}"$/)]],
  ['ISDN', [characterString, optional(characterString)]],
  ['RT', PREFERENCE],
  ['NSAP', [networkServiceAddress]],
  ['NSAP-PTR', [name]],
  ['SIG', SIGNATURE],
  ['KEY', [oldKey]],
  ['PX', [uint16, name, name]],
  ['GPOS', [characterString, characterString, characterString]],
  ['LOC', [location]],
  ['NXT', [name, oldTypeBitmap]],
  ['EID', [HEX]],
  ['NIMLOC', [HEX]],
  ['ATMA', [atmAddress]],
  ['KX', PREFERENCE],
  ['CERT', [integer(2, CERTIFICATE_TYPES, true), uint16, integer(1, ALGORITHMS, true), BASE64]],
  ['A6', [prefixedAddress]],
  ['DNAME', [name]],
  ['SINK', [uint8, uint8, uint8, remaining('base64', 0)]],
  ['APL', [addressPrefixes]],
  ['DS', DELEGATION],
  ['SSHFP', FINGERPRINT],
  ['IPSECKEY', [ipsecKey]],
  ['RRSIG', SIGNATURE],
  ['NSEC', [name, typeBitmap(1)]],
  ['DNSKEY', PUBLIC_KEY],
  ['DHCID', [BASE64]],
  ['NSEC3', [uint8, uint8, uint16, salt, hashedOwner, typeBitmap(0)]],
  ['NSEC3PARAM', [uint8, uint8, uint16, salt]],
  ['TLSA', CERTIFICATE],
  ['SMIMEA', CERTIFICATE],
  ['HIP', [hostIdentity]],
  ['NINFO', [characterStrings]],
  ['RKEY', PUBLIC_KEY],
  ['TALINK', [name, name]],
  ['CDS', DELEGATION],
  ['CDNSKEY', PUBLIC_KEY],
  ['OPENPGPKEY', [BASE64]],
  ['CSYNC', [uint32, uint16, typeBitmap(0)]],
  ['ZONEMD', ZONE_DIGEST],
  ['SVCB', SERVICE],
  ['HTTPS', SERVICE],
  ['DSYNC', [typeCovered, integer(1, { NOTIFY: 1 }, true), uint16, name]],
  ['HHIT', [BASE64]],
  ['BRID', [BASE64]],
  ['SPF', [characterStrings]],
  ['NID', [uint16, separated(':', 4, 4, 1)]],
  ['L32', [uint16, ipv4]],
  ['L64', [uint16, separated(':', 4, 4, 1)]],
  ['LP', PREFERENCE],
  ['EUI48', [separated('-', 6, 2, 2)]],
  ['EUI64', [separated('-', 8, 2, 2)]],
  ['URI', [uint16, uint16, remainingString]],
  ['AVC', [characterStrings]],
  ['DOA', [digitalObject]],
  ['AMTRELAY', [multicastRelay]],
  ['RESINFO', [characterStrings]],
  ['WALLET', [characterStrings]],
  ['TA', DELEGATION],
  ['DLV', DELEGATION],
]);
