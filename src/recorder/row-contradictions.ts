import { stayText } from '../history/violation-text.js';
import { isJsonObject } from '../model/json-values.js';
import type { DomainRow } from './domain-row.js';
import { type StayRow, stayOfRow } from './stay-row.js';

/**
 * What the columns of a domain's row say against each other: the rules of history never get to see it.
 *
 * @returns one line for each contradiction.
 */
export function* contradictionsOfDomain(row: DomainRow): Generator<string> {
  if (!allOrNone([row.dns_first, row.dns_latest])) {
    yield 'of dns_first and dns_latest one is set, and the other is not';
  }
  if (!allOrNone([row.http_first, row.http_latest, row.http_digest])) {
    yield 'of http_first, http_latest and http_digest some are set, and others are not';
  }
  if (!allOrNone([row.https_declined_first, row.https_declined_latest, row.https_declined_count])) {
    yield 'of https_declined_first, https_declined_latest and https_declined_count some are set, and others are not';
  }
  if (row.https_latest === null && row.https_declined_first !== null) {
    yield 'HTTPS was declined, and there is no https_latest';
  }
}

/** What the columns of a record's row say against each other: one line for each contradiction. */
export function* contradictionsOfStay(row: StayRow): Generator<string> {
  const text = () => stayText(stayOfRow(row));
  if (row.removed !== null && row.last_seen === null) {
    yield `${text()} was removed, and has no time at which it was last seen`;
  }
  if (row.removed === null && row.last_seen !== null) {
    yield `${text()} is present, and has a time at which it was last seen`;
  }
  if (row.removed === null && row.removed_source !== null) {
    yield `${text()} is present, and has a source of its removal`;
  }
}

/** Whether column `dns_types` has the form in which the recorder writes it, and can be read. */
export function isReadableTypes(types: unknown): boolean {
  return isJsonObject(types) && Object.values(types).every(isReadableType);
}

function isReadableType(stored: unknown): boolean {
  if (!isJsonObject(stored)) return false;
  const { digest, first, latest, ...others } = stored;
  const times = [first, latest].filter((time) => time !== undefined);
  return (
    typeof digest === 'string' &&
    times.length !== 1 &&
    times.every((time) => typeof time === 'string' && /^-?\d{1,18}$/.test(time)) &&
    Object.keys(others).length === 0
  );
}

function allOrNone(values: readonly unknown[]): boolean {
  const set = values.filter((value) => value !== null).length;
  return set === 0 || set === values.length;
}
