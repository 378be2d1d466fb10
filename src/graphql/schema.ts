import { readFileSync } from 'node:fs';
import { makeExecutableSchema } from '@graphql-tools/schema';
import { buildSchema, type GraphQLSchema, isAbstractType } from 'graphql';
import type { RequestContext } from '../resolvers/context.js';
import { resolvers } from '../resolvers/resolvers.js';
import { Timestamp, UnsignedInt } from './scalars.js';

export function schemaText(): string {
  return readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8');
}

/** The object types of each interface and union, in the form that Apollo Client's cache takes. */
export function possibleTypes(): Readonly<Record<string, readonly string[]>> {
  const schema = buildSchema(schemaText());
  const types = Object.values(schema.getTypeMap()).filter(isAbstractType);
  return Object.fromEntries(types.map((type) => [type.name, schema.getPossibleTypes(type).map(String)]));
}

/** The schema of schema.graphql with its resolvers, without limits. */
export function createSchema(): GraphQLSchema {
  return makeExecutableSchema<RequestContext>({
    typeDefs: schemaText(),
    resolvers: { ...resolvers, Timestamp, UnsignedInt },
  });
}
