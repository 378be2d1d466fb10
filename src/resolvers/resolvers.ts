import { DnsRecord } from './DnsRecord.js';
import { DnsRecordEntry } from './DnsRecordEntry.js';
import { Domain } from './Domain.js';
import { NaptrRecord } from './NaptrRecord.js';
import { domain } from './Query/domain.js';
import { SoaRecord } from './SoaRecord.js';
import type { Resolvers } from './types.generated.js';

/**
 * Every resolver by its name in schema.graphql, but the scalars. A field that is missing here is the
 * property of its name.
 */
export const resolvers: Omit<Resolvers, 'Timestamp' | 'UnsignedInt'> = {
  Query: { domain },
  Domain,
  DnsRecord,
  DnsRecordEntry,
  SoaRecord,
  NaptrRecord,
};
