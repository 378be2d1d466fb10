import {
  type DocumentNode,
  type GraphQLSchema,
  getDirectiveValues,
  isInterfaceType,
  isObjectType,
  type OperationDefinitionNode,
  valueFromASTUntyped,
} from 'graphql';
import { sizeOf } from '../model/json-values.js';
import {
  COUNTED_SIZE,
  type Field,
  type FieldCost,
  Measurement,
  NO_COST,
  type RequestCost,
  tooComplex,
  type Variables,
} from './measure.js';

export { NO_COST, type RequestCost, type Variables };

const FREE: FieldCost = { units: 0 };

const TOKENS_OF_UNIT = 1_000;

/** What requests cost by a schema with directives `@cost`. */
export class Costs {
  readonly schema: GraphQLSchema;
  readonly #fields = new Map<Field, FieldCost>();
  /** Of operations that cost the same whatever their variables are. */
  readonly #known = new WeakMap<OperationDefinitionNode, RequestCost>();

  constructor(schema: GraphQLSchema) {
    this.schema = schema;
    const directive = schema.getDirective('cost');
    for (const type of Object.values(schema.getTypeMap())) {
      const fields = isObjectType(type) || isInterfaceType(type) ? Object.values(type.getFields()) : [];
      for (const field of fields) {
        const values = directive && field.astNode ? getDirectiveValues(directive, field.astNode) : undefined;
        if (values !== undefined) this.#fields.set(field, { units: Number(values['units']), ...values });
      }
    }
  }

  ofField(field: Field | undefined): FieldCost {
    return (field && this.#fields.get(field)) ?? FREE;
  }

  /**
   * What an operation of a valid document costs with the variables of a request.
   *
   * @throws PublicError QUERY_TOO_COMPLEX for a name that is too long.
   */
  of(document: DocumentNode, operation: OperationDefinitionNode, variables: Variables): RequestCost {
    const values = valuesOf(operation, variables);
    const sizes = Object.entries(values).map(([name, value]) => [name, sizeOf(value)] as const);
    const isLong = sizes.some(([, size]) => size >= COUNTED_SIZE);
    const known = this.#known.get(operation);
    if (known !== undefined && !isLong) return known;
    const counted = new Map(isLong ? sizes : []);
    const measurement = new Measurement(this, document, values, counted);
    const unitsOfDocument = Math.floor((document.tokenCount ?? 0) / TOKENS_OF_UNIT);
    const cost = { ...measurement.operation(operation), unitsOfDocument };
    if (!measurement.readsVariables && !isLong) this.#known.set(operation, cost);
    return cost;
  }
}

/** The variables that an operation has, with its defaults. Those given that it does not have may be many. */
function valuesOf({ variableDefinitions = [] }: OperationDefinitionNode, given: Variables): Variables {
  const values: Record<string, unknown> = Object.create(null);
  for (const { variable, defaultValue } of variableDefinitions) {
    const { value: name } = variable.name;
    if (Object.hasOwn(given, name)) values[name] = given[name];
    else if (defaultValue !== undefined) values[name] = valueFromASTUntyped(defaultValue);
  }
  return values;
}

/** Fields in fields: the usual introspection query has 13, the schema itself 4. */
const MAX_DEPTH = 20;
/** How many fields of a document may read much of the database. */
const MAX_WIDE_FIELDS = 4;

/**
 * @param maxFields How many fields a response may have, about.
 * @throws PublicError QUERY_TOO_COMPLEX
 */
export function requireWithinLimits({ depth, wideFields, fields }: RequestCost, maxFields: number): void {
  if (depth > MAX_DEPTH) throw tooComplex(`The query has fields more than ${MAX_DEPTH} levels deep.`);
  if (wideFields > MAX_WIDE_FIELDS) {
    throw tooComplex(`The query asks for statistics more than ${MAX_WIDE_FIELDS} times.`);
  }
  if (fields > maxFields) {
    throw tooComplex(`The query asks for about ${fields} fields; ${maxFields} are allowed.`);
  }
}
