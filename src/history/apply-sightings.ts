import { compareDnsRecords, type DnsRecord } from '../model/dns-record.js';
import { addTo } from '../model/groups.js';
import type { Instant } from '../model/instant.js';
import type { Observation } from '../model/observation.js';
import { asHeld } from './complete-observation.js';
import type { Changes } from './diff.js';
import { digestOfRecords } from './digest.js';
import {
  type DomainState,
  earlierOf,
  extendedTimes,
  type Holdings,
  holdStay,
  identityOf,
  laterOf,
  latestOfType,
  namedTimes,
  type RecordStay,
  UNOBSERVED,
} from './state.js';

/**
 * Applies observations of single records (DnsObservation.sighted), in the order of time and none before the
 * latest observation: they tell nothing of other records, and are no observation of their types. Several at
 * once, since the digest of what is present is computed once.
 *
 * @returns the changes by their times; of each observation what that of its records did that did most: it began
 *   a stay, told that a record was still present, or nothing, since that is known, or the complete observation
 *   of the same time is.
 */
export function applySightings(
  before: DomainState | null,
  holdings: Holdings,
  observations: readonly Observation[],
) {
  let state = before;
  const begun = new Map<Instant, RecordStay[]>();
  const types = new Set<string>();
  const sight = (sighted: DnsRecord, observation: Observation) => {
    const { observedAt: seenAt, source = null } = observation;
    const { type } = sighted;
    types.add(type);
    const stays = holdings.records.get(type) ?? new Map<string, RecordStay>();
    const record = heldAs(sighted, stays);
    const stay = stays.get(identityOf(record));
    const latest = latestOfType(state, type);
    if (latest === seenAt || stay?.sightings?.at(-1)?.seenAt === seenAt) return 'repeated';
    state = stateAfter(state, type, seenAt, stay === undefined);
    const sightings = stay?.sightings ?? [];
    sightings.push({ seenAt, source });
    if (stay !== undefined) {
      if (stay.sightings === undefined) holdStay(holdings, { ...stay, sightings });
      return 'unchanged';
    }
    // What is seen first of a type that was never observed was there before, for all that is known.
    const isFirst = latest === null && [...stays.values()].every(({ firstSeen }) => firstSeen === seenAt);
    const routine = isFirst ? 'INITIAL' : null;
    const open: RecordStay = {
      firstSeen: seenAt,
      position: 0,
      record,
      source,
      sightings,
      routine,
      removal: null,
    };
    holdStay(holdings, open);
    addTo(begun, seenAt, open);
    return 'changed';
  };
  const kinds = observations.map((observation) => {
    const records = [...(observation.dns?.records.values() ?? [])].flat();
    const done = new Set(records.map((record) => sight(record, observation)));
    return (['changed', 'unchanged'] as const).find((kind) => done.has(kind)) ?? 'repeated';
  });
  const changes = Array.from(
    begun.values(),
    (added): Changes => ({ added, removed: [], headers: [], responses: [], earlier: [] }),
  );
  return { state: state && withDigests(state, holdings, types), changes, kinds };
}

function stateAfter(
  before: DomainState | null,
  type: string,
  seenAt: Instant,
  isChange: boolean,
): DomainState {
  const state = before ?? { ...UNOBSERVED, created: seenAt, lastUpdate: seenAt, types: new Map() };
  const known = state.types.get(type) ?? { digest: '', named: namedTimes(state, type) };
  return {
    ...state,
    created: earlierOf(state.created, seenAt),
    lastUpdate: laterOf(state.lastUpdate, seenAt),
    lastChange: isChange ? laterOf(state.lastChange, seenAt) : state.lastChange,
    types: new Map(state.types).set(type, { ...known, sighted: extendedTimes(known.sighted, seenAt) }),
  };
}

function withDigests(state: DomainState, { records }: Holdings, sighted: ReadonlySet<string>): DomainState {
  const types = new Map(state.types);
  for (const type of sighted) {
    const present = Array.from(records.get(type)?.values() ?? [], ({ record }) => record);
    const known = types.get(type);
    const digest = digestOfRecords(present.sort(compareDnsRecords));
    if (known !== undefined) types.set(type, { ...known, digest });
  }
  return { ...state, types };
}

/** A record that is sighted, as it is held. @param stays Of its type, by identity. */
function heldAs(sighted: DnsRecord, stays: ReadonlyMap<string, RecordStay>): DnsRecord {
  if (sighted.type !== 'TXT' || stays.has(identityOf(sighted))) return sighted;
  const held = Array.from(stays.values(), ({ record }) => record);
  return asHeld([sighted], held)[0] ?? sighted;
}
