import fc from 'fast-check';
import { NAUGHTY_STRINGS } from '../support/naughty-strings.js';

const naughty = fc.constantFrom(...NAUGHTY_STRINGS);
const text = fc.oneof(naughty, fc.string({ unit: 'binary', maxLength: 40 }));

/** A text as a document writes it: mostly well, and now and then as it is. */
const literal = fc.oneof(
  { weight: 5, arbitrary: text.map((value) => JSON.stringify(value)) },
  text.map((value) => `"""${value}"""`),
  text,
  fc.constantFrom('null', '1', '-1.5e400', '[]', '["A"]', '{a: 1}', '$name', '$other', 'ENUM', 'true'),
);

const name = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('"example.com"', '"www.example.org"', '$name') },
  literal,
);

const SOUND_FIELDS = [
  ...[
    'name',
    'unicodeName',
    'registrableDomain',
    'created',
    'lastUpdate',
    'lastChange',
    '__typename',
    'a: name',
  ],
  'created @skip(if: true)',
  'dnsRecords { ... on DnsRecordEntry { host type firstSeen removed } }',
  'dnsRecords { ... on DnsRecordEntry { type } ... on SoaRecord { serial minimumTtl } ... on NaptrRecord { naptrFlags } }',
  'httpHeaders { name value present history { event date new old } }',
];

const FIELDS = [
  ...SOUND_FIELDS,
  'nothing',
  'dnsRecords(present: true) { ... on ARecord { ip } }',
  'dnsRecords { ... on CaaRecord { flags } ... on NaptrRecord { flags } }',
  'dnsRecords { host }',
  'dnsRecords',
  'httpHeaders(names: $names) { name }',
  '...F',
  '... on Domain { name }',
  '... @include(if: $flag) { name }',
];

const field = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...FIELDS) },
  literal.map((value) => `dnsRecords(types: ${value}) { __typename }`),
  literal.map((value) => `httpHeaders(names: ${value}) { name }`),
);

const selection = fc.array(field, { minLength: 1, maxLength: 8 }).map((fields) => `{ ${fields.join(' ')} }`);

const domainField = fc
  .tuple(name, selection)
  .map(([argument, fields]) => `domain(name: ${argument}) ${fields}`);

const HEADS = [
  '',
  'query',
  'query Q',
  'query Q($name: String!)',
  'query Q($name: String = "a", $names: [String!], $flag: Boolean)',
  'mutation',
  'subscription',
  'query Q($name: Nothing)',
  'query Q @a',
];

const operation = fc
  .tuple(fc.constantFrom(...HEADS), fc.array(domainField, { minLength: 1, maxLength: 5 }), fc.boolean())
  .map(([head, fields, aliased]) => {
    const named = fields.map((one, at) => (aliased ? `a${at}: ${one}` : one));
    const document = `${head} { ${named.join(' ')} }`;
    return document.includes('...F') ? `${document} fragment F on Domain { lastChange }` : document;
  });

/** Documents that are right, where the variable `name` is a domain. */
const sound = fc
  .record({
    fields: fc.array(fc.constantFrom(...SOUND_FIELDS), { minLength: 1 }),
    argument: fc.constantFrom('"example.com"', '"www.example.org"', '$name'),
    count: fc.integer({ min: 1, max: 9 }),
  })
  .map(({ fields, argument, count }) => {
    const domain = `domain(name: ${argument}) { ${fields.join(' ')} }`;
    const domains = Array.from({ length: count }, (_, at) => `a${at}: ${domain}`);
    return `query Q${argument === '$name' ? '($name: String!)' : ''} { ${domains.join(' ')} }`;
  });

/** Documents beyond the limits, each in its own way. */
const excessive = fc.oneof(
  fc.integer({ min: 1, max: 3000 }).map((depth) => `{ ${'a { '.repeat(depth)} b ${'} '.repeat(depth)} }`),
  fc
    .integer({ min: 1, max: 4000 })
    .map((depth) => `{ domain(name: ${'['.repeat(depth)}${']'.repeat(depth)}) { name } }`),
  fc
    .integer({ min: 1, max: 1500 })
    .map(
      (count) =>
        `{ ${Array.from({ length: count }, (_, at) => `a${at}: domain(name: "${at}.example") { name }`).join(' ')} }`,
    ),
  fc.integer({ min: 1, max: 5000 }).map((count) => `{ ${'__typename '.repeat(count)} }`),
  fc
    .integer({ min: 1, max: 3000 })
    .map((count) => `{ domain(name: "example.com") { name ${'@skip(if: false) '.repeat(count)} } }`),
  fc
    .integer({ min: 1, max: 500 })
    .map(
      (count) =>
        `{ domain(name: "example.com") { ...A } } ${'fragment A on Domain { ...B } fragment B on Domain { ...A } '.repeat(count)}`,
    ),
  fc.integer({ min: 1, max: 25 }).map((depth) => {
    const fragments = Array.from(
      { length: depth },
      (_, at) => `fragment F${at} on Domain { ...F${at + 1} ...F${at + 1} }`,
    );
    return `{ domain(name: "example.com") { ...F0 } } ${fragments.join(' ')} fragment F${depth} on Domain { name }`;
  }),
  fc
    .integer({ min: 1, max: 12 })
    .map(
      (depth) =>
        `{ __schema { types { ${'fields { type { '.repeat(depth)} name ${'} } '.repeat(depth)} } } }`,
    ),
  fc.integer({ min: 1, max: 40_000 }).map((length) => `{ domain(name: "${'a'.repeat(length)}") { name } }`),
  fc
    .integer({ min: 1, max: 2000 })
    .map(
      (count) =>
        `query(${Array.from({ length: count }, (_, at) => `$v${at}: String`).join(' ')}) { domain(name: "example.com") { name } }`,
    ),
);

/** Any document, right or wrong. */
export const graphqlDocuments: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: operation },
  { weight: 4, arbitrary: sound },
  { weight: 2, arbitrary: excessive },
  fc.tuple(operation, fc.nat({ max: 200 })).map(([document, length]) => document.slice(0, length)),
  text,
);

const variables = fc.oneof(
  { weight: 2, arbitrary: text.map((value): unknown => ({ name: value })) },
  fc.record({ name: fc.anything(), names: fc.anything(), flag: fc.anything() }),
  fc.anything(),
  fc.constantFrom<unknown>(undefined, null, [], 'a', { name: 'example.com', names: ['server'], flag: true }),
);

const extensions = fc.constantFrom<unknown>(
  undefined,
  null,
  {},
  { persistedQuery: { version: 1, sha256Hash: 'a' } },
  { persistedQuery: { version: 2, sha256Hash: 'b'.repeat(64) } },
  { persistedQuery: [] },
  { persistedQuery: { version: 1, sha256Hash: ['a'] } },
);

const soundRequest = sound.map((query) => JSON.stringify({ query, variables: { name: 'example.com' } }));

const request = fc
  .record({
    query: graphqlDocuments,
    variables,
    extensions,
    operationName: fc.oneof(fc.constant(undefined), text),
  })
  .map((value) => json(value));

/** What fc.anything() makes is not all JSON: a bigint is none, and keys may be what JSON.stringify takes for more. */
function json(value: unknown): string {
  return (
    JSON.stringify(value, (_key, inner: unknown) => (typeof inner === 'bigint' ? String(inner) : inner)) ?? ''
  );
}

const BAD_JSON = [
  '',
  ' ',
  '{',
  '}',
  '[]',
  '[{}]',
  'null',
  '"a"',
  '1',
  'nul',
  "{'query':'a'}",
  '{"query":}',
  '{"query":"{__typename}",}',
  '{"query":1}',
  '{"query":null}',
  '{"query":["a"]}',
  '{"__proto__":{"query":"{__typename}"}}',
  '{"constructor":1}',
  '{"query":"\\ud800"}',
  '{"query":"\\u0000"}',
  '{"query":"{__typename}","variables":"{}"}',
  '{"query":"{__typename}","variables":[1]}',
  '[{"query":"{__typename}"},{"query":"{__typename}"}]',
  '['.repeat(20_000),
  '{"a":'.repeat(20_000),
  `{"query":"${'a'.repeat(600_000)}"}`,
];

/** The bodies of requests, right or wrong. */
export const graphqlBodies: fc.Arbitrary<Buffer> = fc.oneof(
  { weight: 6, arbitrary: request.map((body) => Buffer.from(body)) },
  { weight: 3, arbitrary: soundRequest.map((body) => Buffer.from(body)) },
  fc.constantFrom(...BAD_JSON).map((body) => Buffer.from(body)),
  request.map((body) => Buffer.from(body, 'utf16le')),
  request.map((body) => Buffer.from(`\ufeff${body}`)),
  fc.tuple(request, fc.nat({ max: 100 })).map(([body, length]) => Buffer.from(body.slice(0, length))),
  fc.uint8Array({ maxLength: 300 }).map((octets) => Buffer.from(octets)),
);
