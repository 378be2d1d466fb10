/**
 * What the peers with a schema of their own share: the part of our schema that read/get-domain.graphql
 * asks for, and how rows become its values.
 */

/** The fields of each type's rdata in the data of the benchmark. */
const RDATA = {
  A: 'ip: String!',
  AAAA: 'ipv6: String!',
  MX: 'pri: Int!, target: String!',
  NS: 'target: String!',
  SOA: 'mname: String!, rname: String!, serial: Int!, refresh: Int!, retry: Int!, expire: Int!, minimumTtl: Int!',
  TXT: 'txt: String!, entries: [String!]!',
};

const ENTRY = 'host: String!, class: String!, type: String!, firstSeen: Timestamp!, removed: Timestamp';

export const typeDefs = `
  scalar Timestamp

  type Query {
    domain(name: String!): Domain
  }

  type Domain {
    name: String!
    created: Timestamp!
    lastUpdate: Timestamp!
    dnsRecords: [DnsRecordEntry!]!
    httpHeaders: [HttpHeader!]!
  }

  interface DnsRecordEntry { ${ENTRY} }
  ${Object.entries(RDATA)
    .map(([type, fields]) => `type ${typeName(type)} implements DnsRecordEntry { ${ENTRY}, ${fields} }`)
    .join('\n  ')}

  type HttpHeader {
    name: String!
    value: String!
    history: [HeaderChange!]!
  }

  type HeaderChange {
    event: String!
    date: Timestamp!
    new: String!
    old: String
  }
`;

/** @param {string} type of a DNS record */
function typeName(type) {
  return `${type.charAt(0)}${type.slice(1).toLowerCase()}Record`;
}

/** Microseconds since the epoch: bigint from Prisma, string from pg. @typedef {bigint | string} Microseconds */
/** @typedef {{ name: string, created: Microseconds, lastUpdate: Microseconds }} DomainRow */

/**
 * @typedef {object} RecordRow
 * @property {string} domainName
 * @property {string} host
 * @property {string} class
 * @property {string} type
 * @property {unknown} rdata
 * @property {Microseconds} firstSeen
 * @property {Microseconds | null} removed
 */

/** @typedef {{ domainName: string, name: string, observedAt: Microseconds, value: string | null }} HeaderRow */

/** @typedef {{ event: string, date: string, new: string, old: string | null }} Change */
/** @typedef {{ name: string, value: string, history: Change[] }} Header */

/** @param {DomainRow} row */
export function domainOf({ name, created, lastUpdate }) {
  return { name, created: timestamp(created), lastUpdate: timestamp(lastUpdate) };
}

/** @param {readonly RecordRow[]} rows of one domain, in the order of the answer */
export function dnsRecordsOf(rows) {
  return rows.map(({ host, class: dnsClass, type, rdata, firstSeen, removed }) => {
    const fields = /** @type {Record<string, unknown>} */ (rdata);
    return {
      __typename: typeName(type),
      host,
      class: dnsClass,
      type,
      ...fields,
      minimumTtl: fields['minimum-ttl'],
      firstSeen: timestamp(firstSeen),
      removed: removed === null ? null : timestamp(removed),
    };
  });
}

/** @param {readonly HeaderRow[]} rows of one domain, by name and time */
export function httpHeadersOf(rows) {
  /** @type {Header[]} */
  const headers = [];
  for (const { name, observedAt, value } of rows) {
    // The header was gone: Get domain does not show it.
    if (value === null) continue;
    const date = timestamp(observedAt);
    const header = headers.at(-1);
    if (header?.name === name) {
      header.history.push({ event: 'updated', date, new: value, old: header.value });
      header.value = value;
    } else {
      headers.push({ name, value, history: [{ event: 'created', date, new: value, old: null }] });
    }
  }
  return headers;
}

/** @param {Microseconds} microseconds since the epoch, in the years of the benchmark's data */
export function timestamp(microseconds) {
  const digits = String(microseconds);
  const date = new Date(Number(digits.slice(0, -3)));
  return `${date.toISOString().slice(0, -1)}${digits.slice(-3)}Z`;
}

/**
 * What a loader's batch function returns.
 *
 * @template {{ domainName: string }} Row
 * @template Value
 * @param {readonly string[]} names of domains
 * @param {readonly Row[]} rows of all of them
 * @param {(rows: Row[]) => Value} toValue makes the value of one domain
 * @returns {Value[]} in the order of the names
 */
export function byDomain(names, rows, toValue) {
  /** @type {Map<string, Row[]>} */
  const rowsOf = new Map(names.map((name) => [name, []]));
  for (const row of rows) rowsOf.get(row.domainName)?.push(row);
  return names.map((name) => toValue(rowsOf.get(name) ?? []));
}
