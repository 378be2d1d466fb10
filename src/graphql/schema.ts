import { readFileSync } from 'node:fs';
import { makeExecutableSchema } from '@graphql-tools/schema';
import type { GraphQLScalarType, GraphQLSchema } from 'graphql';
import type { RequestContext } from '../resolvers/context.js';
import { resolvers } from '../resolvers/resolvers.js';
import { Timestamp, UnsignedInt } from './scalars.js';

const SCHEMA_FILE = new URL('../../schema.graphql', import.meta.url);

/** The schema of schema.graphql with its resolvers, without limits. */
export function createSchema(): GraphQLSchema {
  return makeExecutableSchema<RequestContext>({
    typeDefs: readFileSync(SCHEMA_FILE, 'utf8'),
    resolvers: { ...resolvers, Timestamp: conversions(Timestamp), UnsignedInt: conversions(UnsignedInt) },
  });
}

/** A scalar without its description, or else the missing one would replace that of schema.graphql. */
function conversions({ serialize, parseValue, parseLiteral }: GraphQLScalarType) {
  return { serialize, parseValue, parseLiteral };
}
