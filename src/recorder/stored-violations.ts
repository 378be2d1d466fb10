import { findViolations } from '../history/violations.js';
import { octetsOfHeaderChange, octetsOfRecord } from './history-octets.js';
import { historyOfRows, type StoredRows } from './read-histories.js';
import { contradictionsOfDomain, contradictionsOfStay, isReadableTypes } from './row-contradictions.js';

/**
 * Finds what breaks a rule in a domain's rows.
 *
 * @returns one line for each breach; none when the rows are sound.
 */
export function findStoredViolations(rows: StoredRows): string[] {
  if (!isReadableTypes(rows.domain.dns_types)) {
    return ['the column dns_types cannot be read'];
  }
  return [
    ...contradictionsOfDomain(rows.domain),
    ...contradictionOfSize(rows),
    ...rows.stays.flatMap((stay) => [...contradictionsOfStay(stay)]),
    ...findViolations(historyOfRows(rows)),
  ];
}

function* contradictionOfSize({ domain, stays, headers }: StoredRows): Generator<string> {
  const octets =
    stays.reduce((sum, stay) => sum + octetsOfRecord(stay), 0) +
    headers.reduce((sum, change) => sum + octetsOfHeaderChange(change), 0);
  if (domain.history_octets !== BigInt(octets)) {
    yield `history_octets is ${domain.history_octets}; the records and headers have ${octets}`;
  }
}
