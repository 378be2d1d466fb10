import { parseDomainName } from '../../model/domain-name.js';
import { neededParts } from '../needed-parts.js';
import type { QueryResolvers } from '../types.generated.js';

export const domain: NonNullable<QueryResolvers['domain']> = (
  _query,
  { name },
  { loaders, recipient },
  info,
) => loaders.domainHistory.load({ name: parseDomainName(name), ...neededParts(info), recipient });
