import type { IResolvers } from '@graphql-tools/utils';
import { Change, changeResolvers } from './Change.js';
import { CONNECTION } from './connection.js';
import type { RequestContext } from './context.js';
import * as ofDomain from './Domain.js';
import { DnsRecord, recordResolvers } from './entries.js';
import { ofDomains } from './Query/domain.js';
import { Node, node } from './Query/node.js';
import { acrossDomains, Subscription, toDomains } from './Query/search.js';
import type { Resolvers } from './types.generated.js';

const checked: Resolvers = {
  ...ofDomain,
  ...toDomains,
  Query: { ...ofDomains, node, ...acrossDomains },
  Subscription,
  DnsRecord,
  DnsRecordEntry: DnsRecord,
  Node,
  Change,
};

const CONNECTIONS = 'Change DnsRecord DnsRecordMatch HeaderChange HeaderHistory HttpHeaderMatch'.split(' ');

/** All resolvers by name in schema.graphql, without scalars. A missing field is the property of its name. */
export const resolvers: IResolvers<unknown, RequestContext> = {
  ...recordResolvers,
  ...changeResolvers,
  ...Object.fromEntries(CONNECTIONS.map((name) => [`${name}Connection`, CONNECTION])),
  ...checked,
};
