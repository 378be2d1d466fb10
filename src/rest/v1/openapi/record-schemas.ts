import {
  OTHER_RDATA_FIELDS,
  RDATA_FIELDS,
  type RdataField,
  type RdataFieldKind,
} from '../../../model/rdata-fields.js';
import { RDATA_FIELD_TEXTS } from './record-texts.js';
import { closedObject, type Schema, schemaReference, text, timestamp } from './schema.js';

const SCHEMA_OF_KIND: Readonly<Record<RdataFieldKind, Schema>> = {
  ipv4: { type: 'string', format: 'ipv4' },
  ipv6: { type: 'string', format: 'ipv6' },
  hostName: { type: 'string', minLength: 1 },
  integer: { type: 'integer', minimum: 0, maximum: 4_294_967_295 },
  text: { type: 'string' },
  characterString: { type: 'string' },
  characterStrings: { type: 'array', items: { type: 'string' } },
  presentation: { type: 'string' },
};

/** The schemas of DNS record entries and of their data, by name (specification, 2.2 and 2.3). */
export const RECORD_SCHEMAS: Readonly<Record<string, Schema>> = {
  DnsRecordEntry: closedObject('A stay of a DNS record: from its first sight to its removal.', {
    data: schemaReference('DnsRecordData'),
    firstSeen: timestamp('When the record was first observed.'),
    removed: {
      description: 'When it was observed that the record is gone; null while it is present.',
      oneOf: [schemaReference('Timestamp'), { type: 'null' }],
    },
  }),
  DnsRecordData: unionOfTypes(),
  TypedRecordData: unionOfTypesWithFields(),
  ...Object.fromEntries(Array.from(RDATA_FIELDS, ([type, fields]) => [nameOf(type), dataOf(type, fields)])),
  [nameOf('OTHER')]: dataOfOthers(),
};

function nameOf(type: string): string {
  return `${type.charAt(0)}${type.slice(1).toLowerCase()}RecordData`;
}

function unionOfTypes(): Schema {
  return {
    description:
      'What the record says: the field `type` decides which fields follow the common ones. All types that ' +
      'have no schema of their own, `DS`, `TLSA`, `HTTPS` or `TYPE65534` for example, are OtherRecordData.',
    oneOf: [schemaReference('TypedRecordData'), schemaReference(nameOf('OTHER'))],
  };
}

/** A discriminator must know every value; the other types' cannot be listed. */
function unionOfTypesWithFields(): Schema {
  const types = [...RDATA_FIELDS.keys()];
  return {
    description: 'The data of a record whose type has fields of its own.',
    oneOf: types.map((type) => schemaReference(nameOf(type))),
    discriminator: {
      propertyName: 'type',
      mapping: Object.fromEntries(types.map((type) => [type, `#/components/schemas/${nameOf(type)}`])),
    },
  };
}

function dataOf(type: string, fields: readonly RdataField[]): Schema {
  return closedObject(`The data of a record of type ${type}.`, {
    ...commonFields({ const: type }),
    ...Object.fromEntries(fields.map((field) => [field.name, schemaOf(type, field)])),
  });
}

function dataOfOthers(): Schema {
  return closedObject('The data of a record of any type without fields of its own.', {
    ...commonFields({ pattern: '^[A-Z][A-Z0-9-]*$', not: { enum: [...RDATA_FIELDS.keys()] } }),
    ...Object.fromEntries(OTHER_RDATA_FIELDS.map((field) => [field.name, schemaOf('OTHER', field)])),
  });
}

function commonFields(type: Schema): Readonly<Record<string, Schema>> {
  return {
    host: text('The name that the record belongs to, in lower case without a final dot.'),
    class: text('The class of the record: `IN`, the Internet, in all but rare cases.'),
    type: { type: 'string', ...type, description: 'The type of the record.' },
  };
}

function schemaOf(type: string, { name, kind }: RdataField): Schema {
  const description = RDATA_FIELD_TEXTS[type]?.[name];
  return { ...SCHEMA_OF_KIND[kind], ...(description === undefined ? {} : { description }) };
}
