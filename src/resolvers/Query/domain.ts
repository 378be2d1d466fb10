import { LargeHistoryError } from '../../loaders/domain-history.js';
import { parseDomainName } from '../../model/domain-name.js';
import { neededParts } from '../needed-parts.js';
import type { QueryResolvers } from '../types.generated.js';

export const domain: NonNullable<QueryResolvers['domain']> = (
  _query,
  { name },
  { loaders, viewer, recipient, budget, inSlices, part },
  info,
) => {
  if (part !== undefined) return part;
  const key = { ...neededParts(info), name: parseDomainName(name), recipient, client: viewer.rateLimitKey };
  return loaders.domainHistory.load({
    ...key,
    onLarge: async (octets) => {
      if (!inSlices) throw new LargeHistoryError(key, octets);
      await budget.read(octets);
    },
  });
};
