import { buildSchema, isObjectType } from 'graphql';
import { schemaText } from '../../../graphql/schema.js';
import { TYPE_NAMES } from '../../../model/dns-types.js';
import {
  graphqlTypeOf,
  OTHER_RDATA_FIELDS,
  RDATA_FIELDS,
  type RdataField,
} from '../../../model/rdata-types.js';
import { DESCRIBED, type Schema, schemaReference } from '../described.js';

/** The schemas of the data of DNS records, by name (specification, 2.3). */
export function recordSchemas(): Readonly<Record<string, Schema>> {
  const types = [...RDATA_FIELDS.keys()];
  const dataOf = dataSchemas();
  return {
    DnsRecordData: oneOf(
      'What the record says: the field `type` decides which fields follow the common ones. All types that ' +
        'have no schema of their own, `DS`, `TLSA`, `HTTPS` or `TYPE65534` for example, are OtherRecordData.',
      [...types, 'OTHER'],
      // Those that have names, so that clients can tell the schemas apart; the numbered ones are too many.
      TYPE_NAMES,
    ),
    TypedRecordData: oneOf('The data of a record whose type has fields of its own.', types, types),
    ...Object.fromEntries(
      Array.from(RDATA_FIELDS, ([type, fields]) => [schemaName(type), dataOf(type, { const: type }, fields)]),
    ),
    [schemaName('OTHER')]: dataOf(
      'OTHER',
      { pattern: '^[A-Z][A-Z0-9-]*$', not: { type: 'string', enum: types }, examples: ['TYPE65534'] },
      OTHER_RDATA_FIELDS,
    ),
  };
}

/** @param named The types that the discriminator names. */
function oneOf(description: string, types: readonly string[], named: readonly string[]): Schema {
  const refOf = (type: string) => schemaReference(schemaName(RDATA_FIELDS.has(type) ? type : 'OTHER'));
  const mapping = Object.fromEntries(named.map((type) => [type, refOf(type)['$ref']]));
  return { description, oneOf: types.map(refOf), discriminator: { propertyName: 'type', mapping } };
}

function schemaName(type: string): string {
  return `${graphqlTypeOf(type)}Data`;
}

const { common, kinds, notes } = DESCRIBED['x-rdata'];

function dataSchemas() {
  const graphql = buildSchema(schemaText());
  return (type: string, values: Schema, fields: readonly RdataField[]): Schema => {
    const described = graphql.getType(graphqlTypeOf(type));
    const texts = isObjectType(described) ? described.getFields() : {};
    const own = fields.map(({ name, graphqlName, kind }) => {
      const words = [forRest(texts[graphqlName]?.description), notes[kind] ?? []].flat();
      return [name, { ...kinds[kind], description: words.join(' ') }];
    });
    const properties: Readonly<Record<string, Schema>> = {
      ...common,
      type: { type: 'string', ...values, description: 'The type of the record.' },
      ...Object.fromEntries(own),
    };
    return {
      type: 'object',
      description: forRest(described?.description),
      required: Object.keys(properties),
      properties,
      additionalProperties: false,
    };
  };
}

function forRest(description: string | null | undefined): string {
  return (description ?? '').replace(/ REST calls .*$/s, '');
}
