import { parseDomainName } from '../../model/domain-name.js';
import { LargeHistoryError } from '../../model/errors.js';
import { neededParts } from '../needed-parts.js';
import type { QueryResolvers } from '../types.generated.js';

export const domain: NonNullable<QueryResolvers['domain']> = (
  _query,
  { name },
  { loaders, recipient, budget, inSlices },
  info,
) =>
  loaders.domainHistory.load({
    ...neededParts(info),
    name: parseDomainName(name),
    recipient,
    onLarge: async (octets) => {
      if (!inSlices) throw new LargeHistoryError();
      await budget.read(octets);
    },
  });
