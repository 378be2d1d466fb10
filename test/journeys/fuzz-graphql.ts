import fc from 'fast-check';
import { anyCharacter } from '../support/any-character.js';

/** Texts that programs have stumbled over: each stands for a kind of mistake. */
const NAUGHTY_STRINGS = [
  // Nothing, and what looks like nothing; lines, NUL, letters that combine, surrogates on their own.
  ...['', ' ', '\t', '\u0000', 'a\u0000b', '\u200b', '\ufeff', '\u2028', '\u00a0'],
  ...['\r\n', 'a\r\nb: c', '\n\n'],
  ...['e\u0301', '\u0301', '\u202eexample', '\ud800', 'a\udfffb'],
  // Values and names that objects have, and numbers at their ends.
  ...'null undefined NaN true __proto__ constructor prototype toString hasOwnProperty'.split(' '),
  ...'__typename __schema 0 -1 1e309 -0 9007199254740993 99999999999999999999999999'.split(' '),
  ...'0x7f000001 1/0 ٣٤'.split(' '),
  // Paths and addresses.
  ...'. .. ../../../../etc/passwd ..\\..\\ %2e%2e%2f // file:///etc/passwd //127.0.0.1/'.split(' '),
  ...'127.0.0.1 [::1] localhost'.split(' '),
  // Quotes, escapes and the syntax of others.
  ...["' OR 1=1 --", "'; DROP TABLE domain; --", '[object Object]', '<!DOCTYPE html>', '/* */', '\'"`'],
  ...String.raw`$1 \ \x00 \u0000 $${'{'}7*7} {{7*7}} %s%s%n %d <script>alert(1)</script> &lt;`.split(' '),
  ...'$(id) |id # ? &a=b ; *'.split(' '),
  // Percent signs that mean nothing.
  ...'% %0 %zz %00 %2F %ff %C0%AF %ED%A0%80 %F4%90%80%80 %u0041 %25%30%30'.split(' '),
  // Letters of the world, and what they turn into.
  ...'ﬃ ß İ ı ſ Ａ K 。 bücher.example xn--bcher-kva.example xn-- xn--a xn--zzzzzzzzzzzzzzzz'.split(' '),
  ...'日本語.example 👩‍👩‍👧 Z̮̞̠͙͔ͅ'.split(' '),
  // Names of domains that are none.
  ...'.example.com example..com -a.example a-.example example.com. example.com.. *.example.com'.split(' '),
  ...['a b.example', `${'a'.repeat(64)}.example`, `${'a.'.repeat(126)}ab`, `${'a.'.repeat(127)}ab`],
  ...['a'.repeat(300), 'a'.repeat(5000)],
];

export const naughty = fc.constantFrom(...NAUGHTY_STRINGS);
const maxLength = 40;
export const text = fc.oneof(naughty, fc.string({ unit: anyCharacter, maxLength }), fc.string({ maxLength }));

/** A text as a document writes it: mostly well, and now and then as it is. */
const literal = fc.oneof(
  { weight: 5, arbitrary: text.map((value) => JSON.stringify(value)) },
  text.map((value) => `"""${value}"""`),
  text,
  fc.constantFrom('null', '1', '-1.5e400', '[]', '["A"]', '{a: 1}', '$name', '$other', 'ENUM', 'true'),
);

const SOUND_FIELDS = [
  'name unicodeName registrableDomain created lastUpdate lastChange',
  '__typename a: name created @skip(if: true)',
  'dnsRecords { ... on DnsRecordEntry { host type firstSeen removed } }',
  'dnsRecords { ... on DnsRecordEntry { type } ... on SoaRecord { serial } ... on NaptrRecord { naptrFlags } }',
  'httpHeaders { name value present history { event date new old } }',
];

const OTHER_FIELDS = [
  ...['nothing', 'dnsRecords', 'dnsRecords { host }', '...F', '... on Domain { name }'],
  ...['dnsRecords(present: true) { ... on ARecord { ip } }', 'httpHeaders(names: $names) { name }'],
  'dnsRecords { ... on CaaRecord { flags } ... on NaptrRecord { flags } }',
  '... @include(if: $flag) { name }',
];

const field = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...SOUND_FIELDS) },
  { weight: 6, arbitrary: fc.constantFrom(...OTHER_FIELDS) },
  literal.map((value) => `dnsRecords(types: ${value}) { __typename }`),
  literal.map((value) => `httpHeaders(names: ${value}) { name }`),
);

const HEADS = [
  ...['', 'query', 'query Q', 'query Q @a', 'mutation', 'subscription', 'query Q($name: Nothing)'],
  ...['query Q($name: String!)', 'query Q($name: String = "a", $names: [String!], $flag: Boolean)'],
];

const name = fc.oneof(fc.constantFrom('"example.com"', '"www.example.org"', '$name'), literal);

const fields = fc.array(field, { minLength: 1, maxLength: 8 });
const domains = fc.array(fc.tuple(name, fields), { minLength: 1, maxLength: 5 });

const operation = fc
  .tuple(fc.constantFrom(...HEADS), domains, fc.boolean())
  .map(([head, wanted, isAliased]) => {
    const selected = wanted.map(([argument, inner], at) => {
      const alias = isAliased ? `a${at}: ` : '';
      return `${alias}domain(name: ${argument}) { ${inner.join(' ')} }`;
    });
    const document = `${head} { ${selected.join(' ')} }`;
    return document.includes('...F') ? `${document} fragment F on Domain { lastChange }` : document;
  });

/** Documents that are right, where the variable `name` is a domain. */
const sound = fc
  .tuple(
    fc.array(fc.constantFrom(...SOUND_FIELDS), { minLength: 1 }),
    fc.constantFrom('"example.com"', '"www.example.org"', '$name'),
    fc.integer({ min: 1, max: 9 }),
  )
  .map(([inner, argument, count]) => {
    const selected = repeated(count, (at) => `a${at}: domain(name: ${argument}) { ${inner.join(' ')} }`);
    return `query Q${argument === '$name' ? '($name: String!)' : ''} { ${selected} }`;
  });

function repeated(count: number, textAt: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => textAt(at)).join(' ');
}

/** Documents beyond the limits, each in its own way, and how often it repeats something at most. */
const EXCESSES: readonly (readonly [most: number, document: (count: number) => string])[] = [
  [3000, (count) => `{ ${'a { '.repeat(count)} b ${'} '.repeat(count)} }`],
  [4000, (count) => `{ domain(name: ${'['.repeat(count)}${']'.repeat(count)}) { name } }`],
  [1500, (count) => `{ ${repeated(count, (at) => `a${at}: domain(name: "${at}.example") { name }`)} }`],
  [5000, (count) => `{ ${'__typename '.repeat(count)} }`],
  [3000, (count) => `{ domain(name: "example.com") { name ${'@skip(if: false) '.repeat(count)} } }`],
  [500, (count) => `{ ...A } ${'fragment A on Query { ...B } fragment B on Query { ...A } '.repeat(count)}`],
  [25, (count) => `{ domain(name: "example.com") { ...F0 } } ${doubling(count)}`],
  [
    12,
    (count) => `{ __schema { types { ${'fields { type { '.repeat(count)} name ${'} } '.repeat(count)} } } }`,
  ],
  [40_000, (count) => `{ domain(name: "${'a'.repeat(count)}") { name } }`],
  [2000, (count) => `query(${repeated(count, (at) => `$v${at}: String`)}) { domain(name: "a.b") { name } }`],
];

function doubling(count: number): string {
  const fragments = repeated(count, (at) => `fragment F${at} on Domain { ...F${at + 1} ...F${at + 1} }`);
  return `fragment F${count} on Domain { name } ${fragments}`;
}

const excessive = fc
  .constantFrom(...EXCESSES)
  .chain(([most, document]) => fc.integer({ min: 1, max: most }).map(document));

export const graphqlDocuments: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: operation },
  { weight: 4, arbitrary: sound },
  { weight: 2, arbitrary: excessive },
  fc.tuple(operation, fc.nat({ max: 200 })).map(([document, length]) => document.slice(0, length)),
  text,
);

const variables = fc.oneof(
  { weight: 2, arbitrary: text.map((value): unknown => ({ name: value })) },
  fc.record({ name: fc.jsonValue(), names: fc.jsonValue(), flag: fc.jsonValue() }),
  fc.jsonValue(),
  fc.constantFrom<unknown>(undefined, null, [], 'a', { name: 'example.com', names: ['server'], flag: true }),
);

const extensions = fc.constantFrom<unknown>(
  ...[undefined, null, {}, { persistedQuery: [] }],
  ...['a', 'b'.repeat(64), ['a']].map((sha256Hash) => ({ persistedQuery: { version: 1, sha256Hash } })),
  { persistedQuery: { version: 2, sha256Hash: 'b'.repeat(64) } },
);

const soundRequest = sound.map((query) => JSON.stringify({ query, variables: { name: 'example.com' } }));

const operationName = fc.oneof(fc.constant(undefined), text);
const request = fc
  .record({ query: graphqlDocuments, variables, extensions, operationName })
  .map((value) => JSON.stringify(value));

const BAD_JSON = [
  ...[' ', '{"query":"\\ud800"}', '{"query":"\\u0000"}', "{'query':'a'}"],
  ...'{ } [] [{}] null "a" 1 nul {"query":} {"query":"{__typename}",} {"query":1} {"query":null}'.split(' '),
  ...'{"query":["a"]} {"__proto__":{"query":"{__typename}"}} {"constructor":1}'.split(' '),
  ...'{"query":"{__typename}","variables":"{}"} {"query":"{__typename}","variables":[1]}'.split(' '),
  '[{"query":"{__typename}"},{"query":"{__typename}"}]',
  '',
  '['.repeat(20_000),
  '{"a":'.repeat(20_000),
  `{"query":"${'a'.repeat(600_000)}"}`,
];

export const graphqlBodies: fc.Arbitrary<Buffer> = fc
  .oneof<fc.MaybeWeightedArbitrary<string | Uint8Array>[]>(
    { weight: 6, arbitrary: request },
    { weight: 3, arbitrary: soundRequest },
    fc.constantFrom(...BAD_JSON),
    request.map((body) => Buffer.from(body, 'utf16le')),
    request.map((body) => `\ufeff${body}`),
    fc.tuple(request, fc.nat(100)).map(([body, length]) => body.slice(0, length)),
    fc.uint8Array({ maxLength: 300 }),
  )
  .map((body) => Buffer.from(body));

/** Wherever a document may hold a name of the client's own; the last repeats it for each record of 50 domains. */
const PLACES: readonly ((name: string) => object)[] = [
  (name) => ({ query: `{ ${name}: domain(name: "example.com") { name } }` }),
  (name) => ({ query: `{ domain(name: "example.com") { dnsRecords { ${name}: __typename } } }` }),
  (name) => ({ query: `{ domain(name: "example.com") { httpHeaders { history { ${name}: new } } } }` }),
  (name) => ({ query: `query ${name} { __typename }`, operationName: name }),
  (name) => ({ query: 'query Q { __typename }', operationName: name }),
  (name) => ({ query: `{ ${name} }` }),
  (name) => ({ query: `{ domain(${name}: "example.com") { name } }` }),
  (name) => ({ query: `{ domain(name: "${name}") { name } }` }),
  (name) => ({ query: `{ domain(name: ${name}) { name } }` }),
  (name) => ({
    query: `query($${name}: String!) { domain(name: $${name}) { name } }`,
    variables: { [name]: 'a.b' },
  }),
  (name) => ({ query: `query($a: ${name}) { domain(name: $a) { name } }` }),
  (name) => ({ query: `{ ...${name} } fragment ${name} on Query { __typename }` }),
  (name) => ({ query: `{ ... on ${name} { __typename } }` }),
  (name) => ({ query: `{ __typename @${name} }` }),
  (name) => ({ query: `{ __type(name: "${name}") { name } }` }),
  (name) => ({ query: '{ __typename }', variables: { [name]: 'a' }, extensions: { [name]: 1 } }),
  (name) => ({ [name]: 1, query: '{ __typename }' }),
  (name) => ({
    query: `{ ${repeated(50, (at) => `a${at}: domain(name: "example.com") { ...F }`)} }
      fragment F on Domain { dnsRecords { ${name}: __typename } }`,
  }),
];

/** Bodies with a long name; a body has 512 kB at most. */
export const bodiesOfLongNames: fc.Arbitrary<Buffer> = fc
  .tuple(
    fc.constantFrom(300, 20_000, 480_000).chain((most) => fc.integer({ min: 1, max: most })),
    fc.constantFrom('a', 'Z9', '_', '__'),
    fc.constantFrom(...PLACES),
  )
  .map(([length, unit, place]) => Buffer.from(JSON.stringify(place(unit.repeat(length).slice(0, length)))));
