import { graphqlTypeOf } from '../model/rdata-fields.js';
import type { DnsRecordResolvers } from './types.generated.js';

export const DnsRecord: DnsRecordResolvers = {
  __resolveType: ({ type }) => graphqlTypeOf(type),
};
