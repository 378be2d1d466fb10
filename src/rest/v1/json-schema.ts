/** A schema of JSON Schema 2020-12, as OpenAPI 3.1 has it. */
export type Schema = Readonly<Record<string, unknown>>;

/** Where the document keeps its schemas. */
export function schemaReference(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/**
 * The schema of an object that has all of these properties, in this order, and no others.
 *
 * @param properties By name. What a client finds there is in the order of their names.
 */
export function closedObject(description: string, properties: Readonly<Record<string, Schema>>): Schema {
  return {
    type: 'object',
    description,
    required: Object.keys(properties),
    properties,
    additionalProperties: false,
  };
}

/** The schema of a list. */
export function listOf(items: Schema, description: string): Schema {
  return { type: 'array', description, items };
}

/**
 * The schema of a text.
 *
 * @param example What documentation shows in its place.
 */
export function text(description: string, example?: string): Schema {
  return { type: 'string', description, ...(example === undefined ? {} : { examples: [example] }) };
}

/**
 * The schema of a time.
 *
 * @param example What documentation shows in its place; without it, that of every time.
 */
export function timestamp(description: string, example?: string): Schema {
  return {
    ...schemaReference('Timestamp'),
    description,
    ...(example === undefined ? {} : { examples: [example] }),
  };
}

/** The schema of a time, or of null where there is none. */
export function timestampOrNull(description: string): Schema {
  return {
    oneOf: [schemaReference('Timestamp'), { type: 'null' }],
    description,
    examples: [null],
  };
}

/** The schema of a number of things. */
export function count(description: string): Schema {
  return { type: 'integer', minimum: 0, description };
}
