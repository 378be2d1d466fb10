import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { codegen } from '@graphql-codegen/core';
import * as typescript from '@graphql-codegen/typescript';
import * as typescriptResolvers from '@graphql-codegen/typescript-resolvers';
import { buildSchema, isInterfaceType, isUnionType, parse, printSchema } from 'graphql';

// Writes the resolvers' types from the schema. A field whose parent, arguments or result disagree with
// schema.graphql then fails to compile.

const SCHEMA = fileURLToPath(new URL('../schema.graphql', import.meta.url));
const OUTPUT = fileURLToPath(new URL('../src/resolvers/types.generated.ts', import.meta.url));

const schema = buildSchema(readFileSync(SCHEMA, 'utf8'));

/** The members of the union DnsRecord. */
const union = schema.getType('DnsRecord');
const RECORD_TYPES = isUnionType(union) ? union.getTypes().map(({ name }) => name) : [];

/** The types that implement the interface Change. */
const change = schema.getType('Change');
const CHANGE_TYPES = isInterfaceType(change) ? schema.getPossibleTypes(change).map(({ name }) => name) : [];

/**
 * The types of a connection and its edges.
 *
 * @param {string} node
 * @param {string} name of the types in pages.ts
 */
function connection(node, name) {
  return {
    [`${node}Connection`]: `./pages.js#${name}Page as ${name}PageData`,
    [`${node}Edge`]: `./pages.js#${name}Edge as ${name}EdgeData`,
  };
}

/** What the resolvers of a type get as their parent: what the loaders give. */
const MAPPERS = {
  Domain: '../loaders/domain-history.js#DomainHistory',
  DomainDiff: '../loaders/state-diff.js#StateDiff',
  ...connection('Change', 'Change'),
  ...connection('DnsRecordMatch', 'RecordMatch'),
  ...connection('HttpHeaderMatch', 'HeaderMatch'),
  ...connection('Domain', 'Domain'),
  ...connection('DnsRecord', 'Record'),
  ...connection('HeaderHistory', 'Header'),
  ...connection('HeaderChange', 'HeaderHistory'),
  DnsRecordMatch: './pages.js#RecordMatchAt',
  HttpHeaderMatch: './pages.js#HeaderMatchAt',
  Statistics: '../loaders/search-domains.js#Statistics as StatisticsData',
  ...Object.fromEntries(
    CHANGE_TYPES.map((name) => [name, '../loaders/domain-changes.js#Change as ChangeData']),
  ),
  HeaderHistory: '../loaders/header-entries.js#HeaderEntry',
  HeaderChange: '../loaders/header-entries.js#HeaderHistoryItem',
  ...Object.fromEntries(RECORD_TYPES.map((name) => [name, '../loaders/dns-entries.js#DnsEntry'])),
  SoaRecord: '../loaders/dns-entries.js#SoaEntry',
  NaptrRecord: '../loaders/dns-entries.js#NaptrEntry',
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

const types = await codegen({
  filename: OUTPUT,
  // The text is normalized, so that a comment or a space in it changes nothing here.
  schema: parse(printSchema(schema)),
  documents: [],
  config: CONFIG,
  plugins: [{ typescript: {} }, { 'typescript-resolvers': {} }],
  pluginMap: { typescript, 'typescript-resolvers': typescriptResolvers },
});

const text = `// Written by scripts/codegen.js from schema.graphql.\n${types}`;
if (!existsSync(OUTPUT) || readFileSync(OUTPUT, 'utf8') !== text) writeFileSync(OUTPUT, text);
