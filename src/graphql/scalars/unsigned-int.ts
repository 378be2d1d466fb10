import { GraphQLError, GraphQLScalarType, Kind } from 'graphql';

const LARGEST = 4_294_967_295;

/** UnsignedInt of schema.graphql: 0 to 4294967295 (RFC 1035, section 3.3.13, and its like). */
export const UnsignedInt = new GraphQLScalarType<number, number>({
  name: 'UnsignedInt',
  serialize: requireUnsigned,
  parseValue: requireUnsigned,
  parseLiteral: (node) => requireUnsigned(node.kind === Kind.INT ? Number(node.value) : undefined),
});

function requireUnsigned(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= LARGEST) return value;
  throw new GraphQLError(`UnsignedInt must be an integer from 0 to ${LARGEST}.`);
}
