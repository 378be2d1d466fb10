import { compareDnsRecords, type DnsRecord } from '../model/dns-record.js';
import { addTo } from '../model/groups.js';
import type { Instant } from '../model/instant.js';
import type { Observation } from '../model/observation.js';
import type { Changes } from './apply-observation.js';
import { identityOf } from './diff.js';
import { digestOfRecords } from './digest.js';
import { asHeld } from './held-texts.js';
import {
  type DomainState,
  extendedTimes,
  type Holdings,
  type KeptSighting,
  laterOf,
  latestOfType,
  namedTimes,
  type RecordStay,
} from './state.js';

/**
 * What sightings did: begin a stay, tell that a record was still present, or nothing, since they are known, or
 * the complete observation of the same time is.
 */
type SightingKind = 'added' | 'seen' | 'known';

interface Sighted {
  readonly state: DomainState | null;
  readonly holdings: Holdings;
  /** By their times. */
  readonly changes: readonly Changes[];
  /** Of each observation, what that of its records did that did most. */
  readonly kinds: readonly SightingKind[];
}

/**
 * Applies observations of single records (DnsObservation.sighted), in the order of time and none before the
 * latest observation: they tell nothing of other records, and are no observation of their types. Several at
 * once, since what is present is copied.
 */
export function applySightings(
  before: DomainState | null,
  holdings: Holdings,
  observations: readonly Observation[],
): Sighted {
  let state = before;
  const present = new Map<string, Map<string, OpenStay>>();
  const begun = new Map<Instant, RecordStay[]>();
  const sight = (sighted: DnsRecord, { observedAt: seenAt, source }: Observation): SightingKind => {
    const { type } = sighted;
    const stays = present.get(type) ?? openStays(holdings.records.get(type) ?? []);
    present.set(type, stays);
    const record = heldAs(sighted, stays);
    const stay = stays.get(identityOf(record));
    const latest = latestOfType(state, type);
    if (latest === seenAt || stay?.sightings.at(-1)?.seenAt === seenAt) return 'known';
    const sighting = { seenAt, source: source ?? null };
    state = stateAfter(state, type, seenAt, stay === undefined);
    if (stay !== undefined) {
      stay.sightings.push(sighting);
      return 'seen';
    }
    // What is seen first of a type that was never observed was there before, for all that is known.
    const isFirst = latest === null && [...stays.values()].every(({ firstSeen }) => firstSeen === seenAt);
    const routine = isFirst ? 'INITIAL' : null;
    const added = { firstSeen: seenAt, position: 0, record, routine, removal: null } as const;
    const open = { ...added, source: sighting.source, sightings: [sighting] };
    stays.set(identityOf(record), open);
    addTo(begun, seenAt, open);
    return 'added';
  };
  const kinds = observations.map((observation) => {
    const records = [...(observation.dns?.records.values() ?? [])].flat();
    const done = new Set(records.map((record) => sight(record, observation)));
    return (['added', 'seen'] as const).find((kind) => done.has(kind)) ?? 'known';
  });
  const changes = Array.from(begun.values(), (added) => ({ ...NOTHING_ELSE, added }));
  return { ...withPresent(state, holdings, present), changes, kinds };
}

const NOTHING_ELSE = { removed: [], headers: [], responses: [], earlier: [] };
const UNOBSERVED = { lastChange: null, everyType: null, http: null, https: null, site: null };

interface OpenStay extends RecordStay {
  readonly sightings: KeptSighting[];
}

function openStays(stays: readonly RecordStay[]): Map<string, OpenStay> {
  return new Map(
    stays.map((stay) => [identityOf(stay.record), { ...stay, sightings: [...(stay.sightings ?? [])] }]),
  );
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
    created: seenAt < state.created ? seenAt : state.created,
    lastUpdate: laterOf(state.lastUpdate, seenAt),
    lastChange: isChange ? laterOf(state.lastChange, seenAt) : state.lastChange,
    types: new Map(state.types).set(type, { ...known, sighted: extendedTimes(known.sighted, seenAt) }),
  };
}

function withPresent(
  state: DomainState | null,
  holdings: Holdings,
  present: ReadonlyMap<string, ReadonlyMap<string, OpenStay>>,
): Pick<Sighted, 'state' | 'holdings'> {
  if (state === null) return { state, holdings };
  const [types, records] = [new Map(state.types), new Map(holdings.records)];
  for (const [type, open] of present) {
    const stays = Array.from(open.values(), ({ sightings, ...stay }) =>
      sightings.length === 0 ? stay : { ...stay, sightings },
    );
    records.set(type, stays);
    const digest = digestOfRecords(stays.map(({ record }) => record).sort(compareDnsRecords));
    const known = types.get(type);
    if (known !== undefined) types.set(type, { ...known, digest });
  }
  return { state: { ...state, types }, holdings: { ...holdings, records } };
}

/** A record that is sighted, as it is held. @param stays Of its type, by identity. */
function heldAs(sighted: DnsRecord, stays: ReadonlyMap<string, RecordStay>): DnsRecord {
  if (sighted.type !== 'TXT' || stays.has(identityOf(sighted))) return sighted;
  const [held = sighted] = asHeld(
    [sighted],
    Array.from(stays.values(), ({ record }) => record),
  );
  return held;
}
