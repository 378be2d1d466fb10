import { readFileSync } from 'node:fs';
import { buildSchema, isObjectType } from 'graphql';
import { TYPE_NAMES } from '../../../model/dns-types.js';
import {
  graphqlTypeOf,
  OTHER_RDATA_FIELDS,
  RDATA_FIELDS,
  type RdataField,
  type RdataFieldKind,
} from '../../../model/rdata-fields.js';
import { type Schema, schemaReference } from '../described.js';

/** The schemas of DNS record entries and of their data, by name (specification, 2.2 and 2.3). */
export function recordSchemas(): Readonly<Record<string, Schema>> {
  const types = [...RDATA_FIELDS.keys()];
  const dataOf = dataSchemas();
  return {
    DnsRecordEntry: closedObject('A stay of a DNS record: from its first sight to its removal.', {
      data: schemaReference('DnsRecordData'),
      firstSeen: { ...schemaReference('Timestamp'), description: 'When the record was first observed.' },
      removed: {
        oneOf: [schemaReference('Timestamp'), { type: 'null' }],
        description: 'When it was observed that the record is gone; null while it is present.',
        examples: [null],
      },
    }),
    DnsRecordData: {
      description:
        'What the record says: the field `type` decides which fields follow the common ones. All types that ' +
        'have no schema of their own, `DS`, `TLSA`, `HTTPS` or `TYPE65534` for example, are OtherRecordData.',
      oneOf: [...types, 'OTHER'].map((type) => schemaReference(schemaName(type))),
      // It names the types that have names, so that clients can tell the schemas apart; the numbered ones are too many.
      discriminator: discriminatorOf(TYPE_NAMES),
    },
    TypedRecordData: {
      description: 'The data of a record whose type has fields of its own.',
      oneOf: types.map((type) => schemaReference(schemaName(type))),
      discriminator: discriminatorOf(types),
    },
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

/** The schema of an object that has all of these properties, in this order, and no others. */
function closedObject(description: string, properties: Readonly<Record<string, Schema>>): Schema {
  const required = Object.keys(properties);
  return { type: 'object', description, required, properties, additionalProperties: false };
}

function discriminatorOf(types: readonly string[]): object {
  const refs = types.map((type) => [
    type,
    `#/components/schemas/${schemaName(RDATA_FIELDS.has(type) ? type : 'OTHER')}`,
  ]);
  return { propertyName: 'type', mapping: Object.fromEntries(refs) };
}

function schemaName(type: string): string {
  return `${graphqlTypeOf(type)}Data`;
}

/** What a field of each kind holds, and an example of it. */
const SCHEMA_OF_KIND: Readonly<Record<RdataFieldKind, Schema>> = {
  ipv4: { type: 'string', format: 'ipv4', examples: ['192.0.2.7'] },
  ipv6: { type: 'string', format: 'ipv6', examples: ['2001:db8::7'] },
  hostName: { type: 'string', minLength: 1, examples: ['host.example.net'] },
  integer: { type: 'integer', minimum: 0, maximum: 4_294_967_295 },
  text: { type: 'string' },
  characterString: { type: 'string', examples: ['v=spf1 -all'] },
  characterStrings: { type: 'array', items: { type: 'string' }, examples: [['v=spf1 -all']] },
  presentation: { type: 'string', examples: ['\\# 4 C0000207'] },
};

/** What holds for every field of a kind, after the field's own description. */
const NOTE_OF_KIND: Partial<Record<RdataFieldKind, string>> = {
  hostName: ' In lower case without a final dot; `.` is the root.',
  characterString: ' `\\DDD` is a byte that is not UTF-8, as in a zone file.',
};

/** Describes types and fields in the words of schema.graphql. */
function dataSchemas() {
  const graphql = buildSchema(readFileSync(GRAPHQL_SCHEMA, 'utf8'));
  return (type: string, values: Schema, fields: readonly RdataField[]): Schema => {
    const described = graphql.getType(graphqlTypeOf(type));
    const texts = isObjectType(described) ? described.getFields() : {};
    const own = fields.map(({ name, graphqlName, kind }) => [
      name,
      {
        ...SCHEMA_OF_KIND[kind],
        description: forRest(texts[graphqlName]?.description) + (NOTE_OF_KIND[kind] ?? ''),
      },
    ]);
    return closedObject(forRest(described?.description), {
      host: {
        type: 'string',
        description: 'The name that the record belongs to, in lower case without a final dot.',
        examples: ['example.com'],
      },
      class: {
        type: 'string',
        description: 'The class of the record: `IN`, the Internet, in all but rare cases.',
        examples: ['IN'],
      },
      type: { type: 'string', ...values, description: 'The type of the record.' },
      ...Object.fromEntries(own),
    });
  };
}

const GRAPHQL_SCHEMA = new URL('../../../../schema.graphql', import.meta.url);

function forRest(description: string | null | undefined): string {
  return (description ?? '').replace(/ REST calls .*$/s, '');
}
