import { EARLIEST_INSTANT, formatInstant, type Instant, LATEST_INSTANT } from '../model/instant.js';
import type { EarlierChanges } from './routine.js';
import type { RecordedResponse, RecordStay, StoredHeaderChange } from './state.js';

/** An item of a history as text: what tells it from all others, and what is told of it. */
export type ItemText = readonly [name: string, facts: string];

export function stayText({ record, firstSeen, removal, ...stay }: RecordStay): ItemText {
  const { host, class: recordClass, type, rdata } = record;
  const facts = {
    position: stay.position,
    source: stay.source,
    sightings: stay.sightings,
    removed: removal?.removed,
    lastSeen: removal?.lastSeen,
    removedBy: removal?.source,
    routine: stay.routine,
    removedRoutine: removal?.routine,
  };
  return [`${host} ${recordClass} ${type} ${rdata} of ${timeText(firstSeen)}`, factsText(facts)];
}

export function headerText(change: StoredHeaderChange): ItemText {
  const { name, observedAt, value, lastSeen, source, routine } = change;
  return [
    `header ${JSON.stringify(name)} at ${timeText(observedAt)}`,
    factsText({ value, lastSeen, source: source ?? undefined, routine }),
  ];
}

export function responseText(response: RecordedResponse): ItemText {
  const { observedAt, scheme, status, address, source, routine } = response;
  return [`the response at ${timeText(observedAt)}`, factsText({ scheme, status, address, source, routine })];
}

export function earlierText({ type, name, times, count, latestNew, digests }: EarlierChanges): ItemText {
  // Of headers the type is empty, of the site the name.
  const part = [type || 'header', name].filter(Boolean).join(' ');
  return [`what ${JSON.stringify(part)} is judged by`, factsText({ times, count, latestNew, digests })];
}

/** What is told of something, `none` for null. Members that are null are left out, as absent ones are. */
export function factsText(facts: unknown): string {
  if (typeof facts === 'bigint') return timeText(facts);
  const replace = (_key: string, value: unknown) =>
    typeof value === 'bigint' ? timeText(value) : (value ?? undefined);
  return JSON.stringify(facts, replace) ?? 'none';
}

/** Rows of before the database's constraints may have a time outside the years 0000 to 9999. */
function timeText(time: Instant): string {
  return time >= EARLIEST_INSTANT && time <= LATEST_INSTANT ? formatInstant(time) : `${time} µs`;
}
