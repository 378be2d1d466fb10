import type { IResolvers } from '@graphql-tools/utils';
import { Change, ChangeConnection, changeResolvers } from './Change.js';
import type { RequestContext } from './context.js';
import { DnsRecord, recordResolvers } from './DnsRecord.js';
import {
  DnsRecordConnection,
  Domain,
  DomainDiff,
  HeaderChangeConnection,
  HeaderHistory,
  HeaderHistoryConnection,
} from './Domain.js';
import { domain, domains } from './Query/domain.js';
import { Node, node } from './Query/node.js';
import {
  changes,
  DnsRecordMatch,
  DnsRecordMatchConnection,
  DomainConnection,
  DomainEdge,
  dnsRecords,
  HttpHeaderMatch,
  HttpHeaderMatchConnection,
  httpHeaders,
  searchDomains,
  statistics,
} from './Query/search.js';
import { Subscription } from './Subscription.js';
import type { Resolvers } from './types.generated.js';

const checked: Resolvers = {
  Query: { domain, domains, node, dnsRecords, httpHeaders, searchDomains, changes, statistics },
  Subscription,
  ...{ Domain, DomainDiff, DomainConnection, DomainEdge, DnsRecord, DnsRecordEntry: DnsRecord },
  ...{ DnsRecordConnection, HeaderHistory, HeaderHistoryConnection, HeaderChangeConnection },
  ...{ Node, Change, ChangeConnection },
  ...{ DnsRecordMatch, DnsRecordMatchConnection, HttpHeaderMatch, HttpHeaderMatchConnection },
};

/**
 * Every resolver by its name in schema.graphql, but those of scalars. A field that is missing here is the property of
 * its name.
 */
export const resolvers: IResolvers<unknown, RequestContext> = {
  ...recordResolvers,
  ...changeResolvers,
  ...checked,
};
