import { findViolations } from '../history/violations.js';
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
    ...rows.stays.flatMap((stay) => [...contradictionsOfStay(stay)]),
    ...findViolations(historyOfRows(rows)),
  ];
}
