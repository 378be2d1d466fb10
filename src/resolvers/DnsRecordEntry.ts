import { DnsRecord } from './DnsRecord.js';
import type { DnsRecordEntryResolvers } from './types.generated.js';

export const DnsRecordEntry: DnsRecordEntryResolvers = DnsRecord;
