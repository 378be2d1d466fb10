import { type DocumentNode, type GraphQLError, type GraphQLSchema, parse, validate } from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';

/** An operation that is compiled once and runs many times. */
export interface StoredOperation {
  readonly compiled: CompiledQuery['query'];
  /** For the executions that are too long for one turn of the event loop. */
  readonly document: DocumentNode;
}

/**
 * Compiles an operation of this program's own.
 *
 * @param source A document with one operation, whose variables have no default values: the compiler does
 * not know them.
 * @throws Error for a document that the schema does not allow: the program is wrong.
 */
export function prepareOperation(schema: GraphQLSchema, source: string): StoredOperation {
  return compileOperation(schema, parseValid(schema, source));
}

/**
 * The document of a text.
 *
 * @throws Error for a text that is no GraphQL, or that the schema does not allow.
 */
export function parseValid(schema: GraphQLSchema, source: string): DocumentNode {
  const document = parse(source);
  const errors = validate(schema, document);
  if (errors.length > 0) throw refusal(errors);
  return document;
}

/**
 * Compiles a valid document with one operation.
 *
 * @throws Error where the compiler cannot.
 */
export function compileOperation(schema: GraphQLSchema, document: DocumentNode): StoredOperation {
  // What the loaders give has its types from the database: strings and enums need no second look.
  const compiled = compileQuery(schema, document, undefined, { disableLeafSerialization: true });
  if (!isCompiledQuery(compiled)) throw refusal(compiled.errors ?? []);
  return { compiled: compiled.query, document };
}

function refusal(errors: readonly GraphQLError[]): Error {
  const reasons = errors.map(({ message }) => message).join(' ');
  return new AggregateError(errors, `The operation cannot be prepared. ${reasons}`);
}
