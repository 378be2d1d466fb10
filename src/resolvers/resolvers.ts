import type { IResolvers } from '@graphql-tools/utils';
import { Change, ChangeConnection } from './Change.js';
import type { RequestContext } from './context.js';
import { DnsRecord, recordResolvers } from './DnsRecord.js';
import { Domain, DomainDiff } from './Domain.js';
import { domain, domains } from './Query/domain.js';
import type { Resolvers } from './types.generated.js';

const checked: Resolvers = {
  ...{ Query: { domain, domains }, Domain, DomainDiff, DnsRecord, DnsRecordEntry: DnsRecord },
  ...{ Change, ChangeConnection },
};

/**
 * Every resolver by its name in schema.graphql, but those of scalars. A field that is missing here is the property of
 * its name.
 */
export const resolvers: IResolvers<unknown, RequestContext> = {
  ...recordResolvers,
  ...checked,
};
