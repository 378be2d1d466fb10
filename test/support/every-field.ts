const OWN_FIELDS: Readonly<Record<string, string>> = {
  A: 'ip',
  Aaaa: 'ipv6',
  Ns: 'target',
  Soa: 'mname rname serial refresh retry expire minimumTtl',
  Txt: 'txt entries',
  Cname: 'target',
  Mx: 'pri target',
  Srv: 'pri weight port target',
  Caa: 'flags tag value',
  Ptr: 'target',
  Naptr: 'order pref naptrFlags services regex replacement',
  Hinfo: 'cpu os',
  Other: 'data',
};

export const OWN_RECORD_FIELDS = Object.entries(OWN_FIELDS)
  .map(([type, fields]) => `... on ${type}Record { ${fields} }`)
  .join(' ');

const RECORDS = Object.entries(OWN_FIELDS).map(
  ([type, fields]) => `... on ${type}Record { __typename host class type firstSeen removed ${fields} }`,
);

export const EVERY_FIELD = `
  name unicodeName registrableDomain created lastUpdate lastChange
  dnsRecordCount httpHeaderCount changeCount
  dnsRecords { ${RECORDS.join(' ')} }
  httpHeaders { name value present history { event date new old } }`;

/** Fields `a0: FIELD a1: FIELD ...`. */
export function aliases(count: number, field: string, separator = ' '): string {
  return Array.from({ length: count }, (_, at) => `a${at}: ${field}`).join(separator);
}

/** A query with so many aliases of `domain`: `d0` asks for `d0.example`. */
export function domainAliases(count: number, selection: string): string {
  const aliases = Array.from(
    { length: count },
    (_, index) => `d${index}: domain(name: "d${index}.example") { ${selection} }`,
  );
  return `{ ${aliases.join('\n')} }`;
}
