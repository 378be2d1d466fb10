import type { NaptrRecordResolvers } from './types.generated.js';

export const NaptrRecord: NaptrRecordResolvers = {
  naptrFlags: ({ flags }) => flags,
};
