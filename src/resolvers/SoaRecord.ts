import type { SoaRecordResolvers } from './types.generated.js';

export const SoaRecord: SoaRecordResolvers = {
  minimumTtl: (entry) => entry['minimum-ttl'],
};
