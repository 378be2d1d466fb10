import { readFileSync } from 'node:fs';
import { makeExecutableSchema } from '@graphql-tools/schema';
import { buildSchema, GraphQLError, type GraphQLSchema, isAbstractType, Kind, type ValueNode } from 'graphql';
import { InvalidObservationError } from '../model/errors.js';
import { formatInstant, type Instant, parseInstant } from '../model/instant.js';
import type { RequestContext } from '../resolvers/context.js';
import { resolvers } from '../resolvers/resolvers.js';

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

// No GraphQLScalarType: their descriptions, which they do not have, would replace those of schema.graphql.

/** Timestamp of schema.graphql: an Instant inside, the specification's text (2.1) outside. */
export const Timestamp = {
  serialize(value: unknown): string {
    if (typeof value === 'bigint') return formatInstant(value);
    throw new GraphQLError('Timestamp must be a bigint of microseconds.');
  },
  parseValue: readTime,
  parseLiteral: (node: ValueNode) => readTime(node.kind === Kind.STRING ? node.value : undefined),
};

function readTime(value: unknown): Instant {
  if (typeof value !== 'string')
    throw new GraphQLError('Timestamp must be text like 2024-03-01T10:20:30.123456Z.');
  try {
    return parseInstant(value);
  } catch (error) {
    if (error instanceof InvalidObservationError) throw new GraphQLError(error.message);
    throw error;
  }
}

const LARGEST = 4_294_967_295;

/** UnsignedInt of schema.graphql: 0 to 4294967295 (RFC 1035, section 3.3.13, and its like). */
export const UnsignedInt = {
  serialize: requireUnsigned,
  parseValue: requireUnsigned,
  parseLiteral: (node: ValueNode) => requireUnsigned(node.kind === Kind.INT ? Number(node.value) : undefined),
};

function requireUnsigned(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= LARGEST) return value;
  throw new GraphQLError(`UnsignedInt must be an integer from 0 to ${LARGEST}.`);
}
