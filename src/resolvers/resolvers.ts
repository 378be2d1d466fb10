import type { IResolvers } from '@graphql-tools/utils';
import type { RequestContext } from './context.js';
import { DnsRecord, recordResolvers } from './DnsRecord.js';
import { Domain, DomainDiff } from './Domain.js';
import { domain } from './Query/domain.js';
import type { Resolvers } from './types.generated.js';

const checked: Resolvers = { Query: { domain }, Domain, DomainDiff, DnsRecord, DnsRecordEntry: DnsRecord };

/**
 * Every resolver by its name in schema.graphql, but those of scalars. A field that is missing here is the property of
 * its name.
 */
export const resolvers: IResolvers<unknown, RequestContext> = { ...recordResolvers, ...checked };
