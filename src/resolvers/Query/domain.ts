import { parseDomainName } from '../../model/domain-name.js';
import { neededParts } from '../needed-parts.js';
import type { QueryResolvers } from '../types.generated.js';

export const domain: NonNullable<QueryResolvers['domain']> = (
  _query,
  { name },
  { loaders, viewer, recipient, onLarge, part, budget },
  info,
) => {
  if (part !== undefined) return part;
  const key = { ...neededParts(info), name: parseDomainName(name), recipient, client: viewer.rateLimitKey };
  const history = loaders.domainHistory.load({ ...key, onLarge: (octets) => onLarge(key, octets) });
  if (!key.counts) return history;
  return history.then(async (found) => {
    await budget.count(found?.counts?.octets ?? 0);
    return found;
  });
};
