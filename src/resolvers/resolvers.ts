import type { IResolvers } from '@graphql-tools/utils';
import { Change, changeResolvers } from './Change.js';
import { CONNECTION } from './connection.js';
import type { RequestContext } from './context.js';
import { DnsRecord, recordResolvers } from './DnsRecord.js';
import * as ofDomain from './Domain.js';
import { ofDomains } from './Query/domain.js';
import { Node, node } from './Query/node.js';
import { acrossDomains, Subscription, toDomains } from './Query/search.js';
import type { Resolvers } from './types.generated.js';

const checked: Resolvers = {
  Query: { ...ofDomains, node, ...acrossDomains },
  ...{ Subscription, ...ofDomain, ...toDomains, DnsRecord, DnsRecordEntry: DnsRecord },
  ...{ Node, Change, DnsRecordMatchConnection: CONNECTION },
  ...{ ChangeConnection: CONNECTION, DnsRecordConnection: CONNECTION, HeaderChangeConnection: CONNECTION },
  ...{ HeaderHistoryConnection: CONNECTION, HttpHeaderMatchConnection: CONNECTION },
};

/** All resolvers by name in schema.graphql, without scalars. A missing field is the property of its name. */
export const resolvers: IResolvers<unknown, RequestContext> = {
  ...recordResolvers,
  ...changeResolvers,
  ...checked,
};
