import pg from 'pg';

const INT8 = pg.types.builtins.INT8;
/** The type's object identifier in PostgreSQL's catalogue, which pg does not name. */
const INT8_ARRAY = 1016;

/**
 * How one pool reads the values of columns: `bigint` (int8) and `bigint[]` as BigInt, since a number
 * is not exact beyond 2^53; every other type as pg reads it anyway.
 */
export function valueTypes(): pg.CustomTypesConfig {
  const types = new pg.TypeOverrides();
  const parseTexts = types.getTypeParser(INT8_ARRAY);
  types.setTypeParser(INT8, BigInt);
  types.setTypeParser(INT8_ARRAY, (text) => {
    // pg's types say that a parser takes a number; it takes the text.
    return toBigInt(Reflect.apply(parseTexts, undefined, [text]));
  });
  return types;
}

function toBigInt(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toBigInt);
  return typeof value === 'string' ? BigInt(value) : value;
}
