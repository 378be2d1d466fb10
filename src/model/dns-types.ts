/** The types that hold data and have a mnemonic: the registry "Resource Record (RR) TYPEs" of the IANA. */
const NUMBERS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    ...{ A: 1, NS: 2, MD: 3, MF: 4, CNAME: 5, SOA: 6, MB: 7, MG: 8, MR: 9, NULL: 10, WKS: 11, PTR: 12 },
    ...{ HINFO: 13, MINFO: 14, MX: 15, TXT: 16, RP: 17, AFSDB: 18, X25: 19, ISDN: 20, RT: 21, NSAP: 22 },
    ...{ 'NSAP-PTR': 23, SIG: 24, KEY: 25, PX: 26, GPOS: 27, AAAA: 28, LOC: 29, NXT: 30, EID: 31 },
    ...{ NIMLOC: 32, SRV: 33, ATMA: 34, NAPTR: 35, KX: 36, CERT: 37, A6: 38, DNAME: 39, SINK: 40 },
    ...{ APL: 42, DS: 43, SSHFP: 44, IPSECKEY: 45, RRSIG: 46, NSEC: 47, DNSKEY: 48, DHCID: 49, NSEC3: 50 },
    ...{ NSEC3PARAM: 51, TLSA: 52, SMIMEA: 53, HIP: 55, NINFO: 56, RKEY: 57, TALINK: 58, CDS: 59 },
    ...{ CDNSKEY: 60, OPENPGPKEY: 61, CSYNC: 62, ZONEMD: 63, SVCB: 64, HTTPS: 65, DSYNC: 66, HHIT: 67 },
    ...{ BRID: 68, SPF: 99, NID: 104, L32: 105, L64: 106, LP: 107, EUI48: 108, EUI64: 109, URI: 256 },
    ...{ CAA: 257, AVC: 258, DOA: 259, AMTRELAY: 260, RESINFO: 261, WALLET: 262, CLA: 263, IPN: 264 },
    ...{ TA: 32768, DLV: 32769 },
  }),
);

const MNEMONICS: ReadonlyMap<number, string> = new Map(
  Array.from(NUMBERS, ([name, number]) => [number, name]),
);

/** RFC 3597, section 5. */
const NUMBERED = /^TYPE([1-9]\d{0,4})$/;
const OPT = 41;
const RESERVED = 65_535;

/**
 * The number of a type that holds data.
 *
 * @param type A mnemonic (`MX`) or the form of RFC 3597 (`TYPE65534`), in either case.
 * @returns Undefined for an unknown mnemonic, and for what no record can have: 0, 65535, and the types of
 * questions and of messages (OPT, ANY, AXFR and so on; RFC 6895, section 3.1).
 */
export function typeNumber(type: string): number | undefined {
  const upper = type.toUpperCase();
  const digits = NUMBERED.exec(upper)?.[1];
  if (digits === undefined) return NUMBERS.get(upper);
  const number = Number(digits);
  const isForQuestions = number >= 128 && number <= 255;
  return number >= RESERVED || number === OPT || isForQuestions ? undefined : number;
}

/**
 * The one name of a type, as its records have it: the mnemonic where there is one (`CAA` for `type257`),
 * and otherwise the form of RFC 3597. Undefined where isKnownType is false.
 */
export function canonicalType(type: string): string | undefined {
  const number = typeNumber(type);
  return number === undefined ? undefined : (MNEMONICS.get(number) ?? `TYPE${number}`);
}

/** Whether a type can be asked for: a mnemonic that we know, or `TYPE` and the number of a type of data. */
export function isKnownType(type: string): boolean {
  return typeNumber(type) !== undefined;
}
