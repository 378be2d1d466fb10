import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { codegen } from '@graphql-codegen/core';
import * as typedDocumentNode from '@graphql-codegen/typed-document-node';
import * as typescript from '@graphql-codegen/typescript';
import * as typescriptOperations from '@graphql-codegen/typescript-operations';
import * as typescriptResolvers from '@graphql-codegen/typescript-resolvers';
import { buildSchema, isInterfaceType, isUnionType, parse, printSchema } from 'graphql';
import { parse as parseYaml } from 'yaml';

// Writes the types of the resolvers from the schema, and those of the page's operations. A field whose parent, arguments
// or result disagree with schema.graphql then fails to compile.

/** @param {string} path in the checkout */
const pathOf = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));

const SCHEMA = pathOf('schema.graphql');

const schema = buildSchema(readFileSync(SCHEMA, 'utf8'));

/** The members of the union DnsRecord. */
const union = schema.getType('DnsRecord');
const RECORD_TYPES = isUnionType(union) ? union.getTypes().map(({ name }) => name) : [];

/** The types that implement the interface Change. */
const change = schema.getType('Change');
const CHANGE_TYPES = isInterfaceType(change) ? schema.getPossibleTypes(change).map(({ name }) => name) : [];

/**
 * A page of a connection, or an edge.
 *
 * @param {'PageOf' | 'EdgeOf'} type
 * @param {string} file of the loaders
 * @param {string} node
 */
const generic = (type, file, node) =>
  `import('./connection.js').${type}<import('../loaders/${file}.js').${node}>`;

/** What the resolvers of a type get as their parent: what the loaders give. */
const MAPPERS = {
  Domain: '../loaders/domain-history.js#DomainHistory',
  DomainDiff: '../loaders/state-diff.js#StateDiff',
  ChangeConnection: generic('PageOf', 'changes', 'Change'),
  DnsRecordMatchConnection: generic('PageOf', 'search-records', 'RecordMatch'),
  HttpHeaderMatchConnection: generic('PageOf', 'search-headers', 'HeaderMatch'),
  DomainConnection: generic('PageOf', 'domain-row', 'DomainRow'),
  DomainEdge: generic('EdgeOf', 'domain-row', 'DomainRow'),
  DnsRecordConnection: generic('PageOf', 'dns-entries', 'DnsEntry'),
  HeaderHistoryConnection: generic('PageOf', 'header-entries', 'HeaderEntry'),
  HeaderChangeConnection: generic('PageOf', 'header-entries', 'HeaderHistoryItem'),
  DnsRecordMatch: '../loaders/search-records.js#RecordMatch',
  HttpHeaderMatch: '../loaders/search-headers.js#HeaderMatch',
  Statistics: '../loaders/statistics.js#Statistics as StatisticsData',
  ...Object.fromEntries(CHANGE_TYPES.map((name) => [name, '../loaders/changes.js#Change as ChangeData'])),
  HeaderHistory: '../loaders/header-entries.js#HeaderEntry',
  HeaderChange: '../loaders/header-entries.js#HeaderHistoryItem',
  ...Object.fromEntries(RECORD_TYPES.map((name) => [name, '../loaders/dns-entries.js#DnsEntry'])),
};

const CONFIG = {
  contextType: './context.js#RequestContext',
  mappers: MAPPERS,
  scalars: {
    Timestamp: '../model/instant.js#Instant',
    UnsignedInt: 'number',
  },
  enumsAsTypes: true,
  immutableTypes: true,
  useTypeImports: true,
  defaultScalarType: 'unknown',
};

// The text is normalized, so that a comment or a space in it changes nothing here.
const normalized = parse(printSchema(schema));

const resolvers = await codegen({
  filename: 'types.generated.ts',
  schema: normalized,
  documents: [],
  config: CONFIG,
  plugins: [{ typescript: {} }, { 'typescript-resolvers': {} }],
  pluginMap: { typescript, 'typescript-resolvers': typescriptResolvers },
});
write('src/resolvers/types.generated.ts', 'schema.graphql', resolvers);

const OPERATIONS = 'web/operations.graphql';

const operations = await codegen({
  filename: 'operations.generated.ts',
  schema: normalized,
  documents: [{ location: OPERATIONS, document: parse(readFileSync(pathOf(OPERATIONS), 'utf8')) }],
  config: {
    scalars: { Timestamp: 'string', UnsignedInt: 'number' },
    documentMode: 'string',
    enumsAsTypes: true,
    enumType: 'string-literal',
    immutableTypes: true,
    useTypeImports: true,
    onlyOperationTypes: true,
    dedupeFragments: true,
  },
  plugins: [{ 'typescript-operations': {} }, { 'typed-document-node': {} }],
  pluginMap: { 'typescript-operations': typescriptOperations, 'typed-document-node': typedDocumentNode },
});
write('web/src/operations.generated.ts', `schema.graphql and ${OPERATIONS}`, operations);

// Written last: that it is there says that all are.
mkdirSync(pathOf('dist'), { recursive: true });
writeFileSync(
  pathOf('dist/openapi.json'),
  JSON.stringify(parseYaml(readFileSync(pathOf('src/rest/v1/openapi.yaml'), 'utf8'))),
);

/**
 * Writes a file, unless it is there as it is: the compiler would compile it again.
 *
 * @param {string} path in the checkout
 * @param {string} source what it is made from
 * @param {string} types
 */
function write(path, source, types) {
  const text = `// Written by scripts/codegen.js from ${source}.\n${types}`;
  if (!existsSync(pathOf(path)) || readFileSync(pathOf(path), 'utf8') !== text)
    writeFileSync(pathOf(path), text);
}
