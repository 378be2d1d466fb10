/**
 * Documents that are meant to do harm, as large as a body may be, and normal ones beside them.
 *
 * @typedef {object} Asked
 * @property {string} title
 * @property {string} query
 * @property {Record<string, unknown>} [variables]
 */

/** Characters: a body has 512 kB at most. */
const LONGEST = 500_000;

/**
 * @param {string} piece
 * @param {number} [around] characters that go around it
 * @returns {string} as many of the piece as fit
 */
function fill(piece, around = 0) {
  return piece.repeat(Math.floor((LONGEST - around) / piece.length));
}

/**
 * @param {number} count
 * @param {(index: number) => string} piece
 */
function list(count, piece) {
  return Array.from({ length: count }, (_, index) => piece(index)).join(' ');
}

const LEVELS = Math.floor(LONGEST / 3);
const TYPES =
  'ARecord{ip} AaaaRecord{ipv6} NsRecord{target} SoaRecord{mname rname serial refresh retry expire minimumTtl} TxtRecord{txt entries} CnameRecord{target} MxRecord{pri target} SrvRecord{pri weight port target} CaaRecord{flags tag value} PtrRecord{target} NaptrRecord{order pref naptrFlags services regex replacement} HinfoRecord{cpu os} OtherRecord{data}';
const RECORDS = TYPES.replace(/(\w+)\{/g, '... on $1 { __typename host class type firstSeen removed ');
const DOMAIN = `name unicodeName registrableDomain created lastUpdate lastChange dnsRecordCount httpHeaderCount changeCount dnsRecords { ${RECORDS} } httpHeaders { name value present history { event date new old } }`;

/** @type {readonly Asked[]} */
export const HOSTILE = [
  { title: 'deep: 166,666 levels', query: `${'{a '.repeat(LEVELS)}` },
  { title: 'deep: 100 levels', query: `${'{ a '.repeat(100)}${'}'.repeat(100)}` },
  { title: 'wide: 250,000 fields', query: `{ ${fill('a ', 4)}}` },
  { title: '25,000 aliases of __typename', query: `{ ${list(25_000, (index) => `a${index}: __typename`)} }` },
  {
    title: '9,000 aliases within 30,000 tokens',
    query: `{ ${list(9_000, (index) => `a${index}: __typename`)} }`,
  },
  {
    title: '1,000 aliases of domain',
    query: `{ ${list(1000, (index) => `d${index}: domain(name: "d${index}.example") { name }`)} }`,
  },
  {
    title: 'fragments in a circle of 3,000',
    query: `{ ...F0 } ${list(3000, (index) => `fragment F${index} on Query { ...F${(index + 1) % 3000} }`)}`,
  },
  {
    title: 'fragments that double 30 times',
    query: `{ ...F0 } ${list(30, (index) => `fragment F${index} on Query { ...F${index + 1} ...F${index + 1} }`)} fragment F30 on Query { __typename }`,
  },
  {
    title: '50 fragments of which each spreads all before it 10 times',
    query: `{ ...F49 } ${list(50, (index) => `fragment F${index} on Query { __typename ${list(index, (before) => `...F${before} `.repeat(10))} }`)}`,
  },
  { title: '14,000 directives on one field', query: `{ __typename ${'@skip '.repeat(14_000)} }` },
  {
    title: 'the same field 9,000 times',
    query: `{ domain(name: "a.example") { ${'name '.repeat(9_000)} } }`,
  },
  {
    title: 'the same field in the same field',
    query: `{ ${`domain(name: "a.example") { ${'name '.repeat(90)} } `.repeat(90)} }`,
  },
  {
    title: 'an alias of 480,000 characters in a list of 20 domains',
    query: `{ ${list(20, (index) => `d${index}: domain(name: "d${index}.example") { ...F }`)} } fragment F on Domain { dnsRecords { ${'n'.repeat(480_000)}: __typename } }`,
  },
  {
    title: 'an operation name of 480,000 characters in 150 errors',
    query: `query ${'n'.repeat(480_000)}(${list(150, (index) => `$v${index}: Int`)}) { __typename }`,
  },
  { title: 'tokens: a list of 250,000 numbers', query: `{ domain(name: [${fill('1 ', 60)}]) { name } }` },
  { title: 'one string of 500 kB', query: `{ domain(name: "${fill('a', 60)}") { ${'name '.repeat(500)} } }` },
  {
    title: 'cost by variables: 40,000 types',
    query:
      'query ($types: [String!]) { domain(name: "a.example") { dnsRecords(types: $types) { __typename ... on DnsRecordEntry { host type } } } }',
    variables: { types: Array(40_000).fill('A') },
  },
];

/** @type {readonly Asked[]} */
export const WITHIN_LIMITS = [
  {
    title: 'the longest validation: 49,506 comparisons',
    query: `{ domain(name: "a.example") { ${'dnsRecords { __typename } '.repeat(223)} } }`,
  },
  {
    title: 'normal: 100 domains with every field',
    query: `{ ${list(100, (index) => `d${index}: domain(name: "d${index}.example") { ${DOMAIN} }`)} }`,
  },
  { title: 'normal: one domain with every field', query: `{ domain(name: "d.example") { ${DOMAIN} } }` },
];
