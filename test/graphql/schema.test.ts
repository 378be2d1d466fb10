import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  type GraphQLNamedType,
  isEnumType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedDirective,
  isSpecifiedScalarType,
  isUnionType,
} from 'graphql';
import { expect, test } from 'vitest';
import { createSchema } from '../../src/graphql/schema.js';
import { graphqlTypeOf, RDATA_FIELDS } from '../../src/model/rdata-types.js';

const schema = createSchema();

/** Every element of the schema that is ours: its coordinate, and what it is described as. */
function* elements(): Generator<[string, string | null | undefined]> {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isSpecifiedScalarType(type) && !isIntrospectionType(type)) yield* elementsOf(type);
  }
  for (const directive of schema.getDirectives()) {
    if (isSpecifiedDirective(directive)) continue;
    yield [`@${directive.name}`, directive.description];
    for (const argument of directive.args)
      yield [`@${directive.name}(${argument.name}:)`, argument.description];
  }
}

function* elementsOf(type: GraphQLNamedType): Generator<[string, string | null | undefined]> {
  yield [type.name, type.description];
  if (isEnumType(type)) {
    for (const value of type.getValues()) yield [`${type.name}.${value.name}`, value.description];
  }
  if (!isObjectType(type) && !isInterfaceType(type)) return;
  for (const field of Object.values(type.getFields())) {
    yield [`${type.name}.${field.name}`, field.description];
    for (const argument of field.args) {
      yield [`${type.name}.${field.name}(${argument.name}:)`, argument.description];
    }
  }
}

test('every type, field, argument, enum value and directive is described', () => {
  const all = [...elements()];
  expect(all.length).toBeGreaterThan(100);
  expect(all.filter(([, description]) => !description?.trim()).map(([name]) => name)).toEqual([]);
});

test('every member of DnsRecord is a DnsRecordEntry with the own fields of its DNS type, and there is no other', () => {
  const [union, entry] = [schema.getType('DnsRecord'), schema.getType('DnsRecordEntry')];
  if (!isUnionType(union) || !isInterfaceType(entry)) throw new Error('The schema has other types.');
  const common = new Set(Object.keys(entry.getFields()));
  const ownFields = union
    .getTypes()
    .map((member) => [member.name, Object.keys(member.getFields()).filter((name) => !common.has(name))]);
  const expected = Array.from(RDATA_FIELDS, ([type, fields]) => [
    graphqlTypeOf(type),
    fields.map(({ graphqlName }) => graphqlName),
  ]);
  expected.push(['OtherRecord', []]);
  expect(Object.fromEntries(ownFields)).toEqual(Object.fromEntries(expected));
  expect(union.getTypes().every((member) => member.getInterfaces().includes(entry))).toBe(true);
});

test('there is nothing to write with: the public API only reads', () => {
  expect(schema.getMutationType()).toBeUndefined();
});

const output = fileURLToPath(new URL('../../src/resolvers/types.generated.ts', import.meta.url));
const script = fileURLToPath(new URL('../../scripts/codegen.js', import.meta.url));
const generate = () => execFileSync(process.execPath, [script]);

test('the types of resolvers are written from schema.graphql, and left alone while nothing has changed', () => {
  generate();
  expect(readFileSync(output, 'utf8')).toContain('export type DomainResolvers');
  const { mtimeNs } = statSync(output, { bigint: true });
  generate();
  expect(statSync(output, { bigint: true }).mtimeNs).toBe(mtimeNs);
});
