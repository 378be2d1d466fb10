import fc from 'fast-check';

/** A body has 512 kB at most. */
const LONGEST = 480_000;

/** Names as GraphQL has them, up to as long as a body may be: most are short of it by far. */
const longName = fc
  .oneof(
    fc.integer({ min: 1, max: 300 }),
    fc.integer({ min: 1, max: 20_000 }),
    fc.integer({ min: 100_000, max: LONGEST }),
  )
  .chain((length) =>
    fc.constantFrom('a', 'Z9', '_', '__').map((unit) => unit.repeat(length).slice(0, length)),
  );

/** One alias, which the answer repeats for each domain and each of its records. */
function repeated(name: string): string {
  const domains = Array.from({ length: 50 }, (_, at) => `a${at}: domain(name: "example.com") { ...F }`);
  return `{ ${domains.join(' ')} } fragment F on Domain { dnsRecords { ${name}: __typename } }`;
}

/** Wherever a document may hold a name of the client's own. */
const PLACES: readonly ((name: string) => object)[] = [
  (name) => ({ query: `{ ${name}: domain(name: "example.com") { name } }` }),
  (name) => ({ query: `{ domain(name: "example.com") { ${name}: name } }` }),
  (name) => ({ query: `{ domain(name: "example.com") { dnsRecords { ${name}: __typename } } }` }),
  (name) => ({
    query: `{ domain(name: "example.com") { dnsRecords { ... on DnsRecordEntry { ${name}: host } } } }`,
  }),
  (name) => ({ query: `{ domain(name: "example.com") { httpHeaders { history { ${name}: new } } } }` }),
  (name) => ({ query: `query ${name} { domain(name: "example.com") { name } }` }),
  (name) => ({ query: `query ${name} { domain(name: "example.com") { name } }`, operationName: name }),
  (name) => ({ query: 'query Q { domain(name: "example.com") { name } }', operationName: name }),
  (name) => ({ query: `{ ${name} }` }),
  (name) => ({ query: `{ domain(${name}: "example.com") { name } }` }),
  (name) => ({ query: `{ domain(name: "${name}") { name } }` }),
  (name) => ({ query: `{ domain(name: ${name}) { name } }` }),
  (name) => ({
    query: `query($${name}: String!) { domain(name: $${name}) { name } }`,
    variables: { [name]: 'example.com' },
  }),
  (name) => ({ query: `query($a: ${name}) { domain(name: $a) { name } }` }),
  (name) => ({ query: `{ ...${name} } fragment ${name} on Query { domain(name: "example.com") { name } }` }),
  (name) => ({ query: `{ ... on ${name} { __typename } }` }),
  (name) => ({ query: `{ __typename @${name} }` }),
  (name) => ({ query: `{ __type(name: "${name}") { name } }` }),
  (name) => ({ query: '{ __typename }', variables: { [name]: name.slice(0, 10) } }),
  (name) => ({ query: '{ __typename }', extensions: { [name]: 1 } }),
  (name) => ({ [name]: 1, query: '{ __typename }' }),
];

/** Bodies whose document, variables or operation's name hold a long name. */
export const bodiesOfLongNames: fc.Arbitrary<Buffer> = fc
  .tuple(
    longName,
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...PLACES) },
      fc.constant((name: string): object => ({ query: repeated(name) })),
    ),
  )
  .map(([name, place]) => Buffer.from(JSON.stringify(place(name))));
