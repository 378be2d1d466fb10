import { compareDnsRecords, type DnsRecord } from './dns-record.js';

/**
 * Records by their type, as an observation holds them: those of a type in the order of compareDnsRecords,
 * each of them once.
 */
export function recordsByType(records: Iterable<DnsRecord>): Map<string, readonly DnsRecord[]> {
  const byType = new Map<string, DnsRecord[]>();
  for (const record of records) {
    const group = byType.get(record.type);
    if (group === undefined) byType.set(record.type, [record]);
    else group.push(record);
  }
  for (const group of byType.values()) {
    if (!isOrderedSet(group)) putInOrder(group);
  }
  return byType;
}

/** Most tools write a domain's records in the same order each time, often this one. */
function isOrderedSet(records: readonly DnsRecord[]): boolean {
  return records.every((record, at) => {
    const before = records[at - 1];
    return before === undefined || compareDnsRecords(before, record) < 0;
  });
}

function putInOrder(records: DnsRecord[]): void {
  records.sort(compareDnsRecords);
  let kept = 0;
  for (const record of records) {
    const latest = records[kept - 1];
    if (latest !== undefined && compareDnsRecords(latest, record) === 0) continue;
    records[kept] = record;
    kept += 1;
  }
  records.length = kept;
}
