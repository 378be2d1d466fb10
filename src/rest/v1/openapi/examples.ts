import type { Schema } from '../described.js';

/**
 * An example of what a schema describes, made of the examples of its parts: of several shapes the first, of a list one
 * item. A schema without an example of its own is followed by its `$ref`, its values or its type.
 *
 * @param schemas Those that a `$ref` names, by name.
 */
export function exampleOf(schema: Schema, schemas: Readonly<Record<string, Schema>>): unknown {
  const { $ref, examples, const: only, enum: values, oneOf, properties, items } = schema;
  const of = (part: unknown) => exampleOf(Object(part), schemas);
  if (Array.isArray(examples)) return examples[0];
  if (typeof $ref === 'string') return of(schemas[$ref.slice($ref.lastIndexOf('/') + 1)]);
  if (only !== undefined) return only;
  for (const choices of [values, oneOf]) {
    if (Array.isArray(choices)) return choices === oneOf ? of(choices[0]) : choices[0];
  }
  if (items !== undefined) return [of(items)];
  if (properties === undefined) return schema['type'] === 'integer' ? 1 : null;
  const required = Object.keys(Object(properties)).filter((name) =>
    Object(schema['required']).includes(name),
  );
  return Object.fromEntries(required.map((name) => [name, of(Object(properties)[name])]));
}
