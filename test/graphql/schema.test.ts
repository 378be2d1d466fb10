import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isInterfaceType, isUnionType, parse, printSchema, visit } from 'graphql';
import { expect, test } from 'vitest';
import { createSchema } from '../../src/graphql/schema.js';
import { graphqlTypeOf, RDATA_FIELDS } from '../../src/model/rdata-types.js';

const schema = createSchema();

test('every type, field, argument, enum value and directive is described', () => {
  const all: (readonly [name: string | undefined, description: string | undefined])[] = [];
  visit(parse(printSchema(schema)), {
    enter(node) {
      if ('description' in node && 'name' in node) all.push([node.name?.value, node.description?.value]);
    },
  });
  expect(all.length).toBeGreaterThan(100);
  expect(all.filter(([, description]) => !description?.trim())).toEqual([]);
});

test('every field of Query has a cost, which the rate limit counts', () => {
  for (const { name, astNode } of Object.values(schema.getQueryType()?.getFields() ?? {}))
    expect(
      astNode?.directives?.map((each) => each.name.value),
      name,
    ).toEqual(['cost', 'rateLimit']);
});

test('every member of DnsRecord is a DnsRecordEntry with the own fields of its DNS type, and there is no other', () => {
  const [union, entry] = [schema.getType('DnsRecord'), schema.getType('DnsRecordEntry')];
  if (!isUnionType(union) || !isInterfaceType(entry)) throw new Error('The schema has other types.');
  const common = new Set(Object.keys(entry.getFields()));
  const ownFields = union
    .getTypes()
    .map((member) => [member.name, Object.keys(member.getFields()).filter((name) => !common.has(name))]);
  const namesOf = (fields: readonly { graphqlName: string }[]) =>
    fields.map(({ graphqlName }) => graphqlName);
  const expected = Array.from(RDATA_FIELDS, ([type, fields]) => [graphqlTypeOf(type), namesOf(fields)]);
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
