import { graphqlTypeOf } from '../model/rdata-fields.js';
import type { DnsRecordResolvers } from './types.generated.js';

export const DnsRecord: DnsRecordResolvers = {
  // Rdata that was stored as text, and is none of its type, stays so when the type gets fields of its own.
  __resolveType: (entry) => ('data' in entry ? 'OtherRecord' : graphqlTypeOf(entry.type)),
};
