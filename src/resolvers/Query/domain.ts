import type { DomainHistoryKey } from '../../loaders/domain-history.js';
import { parseDomainName } from '../../model/domain-name.js';
import { requireReached } from '../../model/instant.js';
import { neededParts } from '../needed-parts.js';
import type { QueryResolvers } from '../types.generated.js';

export const domain: NonNullable<QueryResolvers['domain']> = (
  _query,
  { name, at },
  { loaders, viewer, recipient, onLarge, part, budget },
  info,
) => {
  if (part !== undefined) return part;
  const { dnsRecords, httpHeaders, counts } = neededParts(info);
  const key: DomainHistoryKey = {
    name: parseDomainName(name),
    at: at == null ? undefined : requireReached(at, BigInt(Date.now()) * 1_000n),
    dnsRecords,
    httpHeaders,
    counts,
    recipient,
    client: viewer.rateLimitKey,
    onLarge: (octets) => onLarge(key, octets),
  };
  const history = loaders.domainHistory.load(key);
  if (!counts) return history;
  return history.then(async (found) => {
    if (found === null) return null;
    await budget.count(found.octets);
    if (found.counts !== null) return found;
    const counted = await loaders.domainHistory.load({
      ...key,
      dnsRecords: false,
      httpHeaders: false,
      countsAny: true,
    });
    return counted && { ...found, counts: counted.counts };
  });
};
