import { parseDomainName } from '../../model/domain-name.js';
import { neededParts } from '../needed-parts.js';
import type { QueryResolvers } from '../types.generated.js';

export const domain: NonNullable<QueryResolvers['domain']> = (
  _query,
  { name },
  { loaders, viewer, recipient, onLarge, part },
  info,
) => {
  if (part !== undefined) return part;
  const key = { ...neededParts(info), name: parseDomainName(name), recipient, client: viewer.rateLimitKey };
  return loaders.domainHistory.load({ ...key, onLarge: (octets) => onLarge(key, octets) });
};
