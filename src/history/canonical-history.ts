import {
  compareDnsRecords,
  type DnsRecord,
  dnsRecordData,
  hasRdataText,
  parseDnsRecord,
} from '../model/dns-record.js';
import { canonicalType } from '../model/dns-types.js';
import { compareInstants, type Instant } from '../model/instant.js';
import { RDATA_FIELDS } from '../model/rdata-fields.js';
import { identityOf } from './diff.js';
import { digestOfRecords } from './digest.js';
import { type DomainState, type PartTimes, type RecordStay, timesOfStay } from './state.js';
import type { StoredHistory } from './stored-history.js';
import { canonicalOrNull } from './violation-text.js';

/** A stored history with the records of some types in their canonical text. */
interface CanonicalHistory {
  readonly state: DomainState;
  /** The types, by their stored and their canonical names, whose stays `stays` replaces. */
  readonly types: ReadonlySet<string>;
  readonly stays: readonly RecordStay[];
  /** How many stays have a text that is not valid rdata of their type; they are unchanged. */
  readonly unreadable: number;
}

/** A type by the names that a history has for it, such as TYPE257 and CAA, with its stays. */
interface TypeGroup {
  readonly type: string;
  readonly names: readonly string[];
  /** Whether a stay has another text or type than it had. */
  readonly differs: boolean;
  readonly stays: readonly RecordStay[];
  readonly unreadable: number;
}

/**
 * Brings to canonical form the records of types without fields of their own, of types that had none when the records
 * were stored, and of types by their number. Stays of a record that now are of one text, and that overlap or follow
 * each other at once, become one: what removed the first was another spelling of the same record. None of it is a
 * change.
 *
 * @returns with no types where everything is canonical.
 */
export function canonicalHistory(history: StoredHistory): CanonicalHistory {
  const groups = groupsOf(history);
  const changed = groups.filter(({ differs }) => differs);
  const types = new Set(changed.flatMap(({ type, names }) => [type, ...names]));
  const stays = changed.flatMap((group) => group.stays);
  const others = history.stays.filter(({ record }) => !types.has(record.type));
  const changes = [
    ...[...others, ...stays].map(({ firstSeen, removal }) => removal?.removed ?? firstSeen),
    ...history.headers.map(({ observedAt }) => observedAt),
  ];
  const lastChange = changes.sort(compareInstants).at(-1) ?? null;
  return {
    types,
    stays,
    unreadable: groups.reduce((sum, group) => sum + group.unreadable, 0),
    state: { ...history.state, lastChange, types: typesAfter(history.state, changed) },
  };
}

function groupsOf({ state, stays }: StoredHistory): TypeGroup[] {
  const namesByType = new Map<string, string[]>();
  for (const name of new Set([...state.types.keys(), ...stays.map(({ record }) => record.type)])) {
    const type = canonicalType(name) ?? name;
    namesByType.set(type, [...(namesByType.get(type) ?? []), name]);
  }
  const asText = new Set(stays.flatMap(({ record }) => (hasRdataText(record) ? [record.type] : [])));
  return [...namesByType]
    .filter(([type, names]) => {
      const isRenamed = names.some((name) => name !== type);
      return isRenamed || asText.has(type) || !RDATA_FIELDS.has(type);
    })
    .map(([type, names]) => groupOf(state, type, names, stays));
}

function groupOf(
  state: DomainState,
  type: string,
  names: readonly string[],
  stays: readonly RecordStay[],
): TypeGroup {
  const before = stays.filter(({ record }) => names.includes(record.type));
  const records = before.map(({ record }) => parsedRecord(record));
  const canonical = before.map((stay, at) => ({ ...stay, record: records[at] ?? stay.record }));
  const merged = mergeStays(canonical);
  const isRespelled = canonical.some((stay, at) => textOf(stay) !== textOf(before[at] ?? stay));
  const named = names.flatMap((name) => Object.values(state.types.get(name)?.named ?? {}));
  const times = [...named, ...before.flatMap(timesOfStay)].sort(compareInstants);
  return {
    ...{ type, names },
    differs: isRespelled || names.some((name) => name !== type),
    stays: inOrder(names.length === 1 ? merged : withLastSeen(merged, times)),
    unreadable: records.filter((record) => record === null).length,
  };
}

function parsedRecord(record: DnsRecord): DnsRecord | null {
  return canonicalOrNull(() => parseDnsRecord(dnsRecordData(record)));
}

function textOf({ record }: RecordStay): string {
  return `${record.type}\n${identityOf(record)}`;
}

function mergeStays(stays: readonly RecordStay[]): RecordStay[] {
  const latest = new Map<string, RecordStay>();
  const ended: RecordStay[] = [];
  for (const stay of [...stays].sort((a, b) => compareInstants(a.firstSeen, b.firstSeen))) {
    const text = textOf(stay);
    const before = latest.get(text);
    if (before === undefined) latest.set(text, stay);
    else if (before.removal === null || before.removal.removed >= stay.firstSeen) {
      latest.set(text, { ...before, removal: laterRemoval(before, stay) });
    } else {
      ended.push(before);
      latest.set(text, stay);
    }
  }
  return [...ended, ...latest.values()];
}

function laterRemoval({ removal: a }: RecordStay, { removal: b }: RecordStay): RecordStay['removal'] {
  if (a === null || b === null) return null;
  return a.removed > b.removed ? a : b;
}

/**
 * A record was last seen by the observation before its removal, which may be one of another name.
 *
 * @param times those at which the type, by any of its names, is known to have been observed.
 */
function withLastSeen(stays: readonly RecordStay[], times: readonly Instant[]): RecordStay[] {
  return stays.map((stay) => {
    const { removal } = stay;
    if (removal === null) return stay;
    const lastSeen = times.findLast((time) => time < removal.removed) ?? removal.lastSeen;
    return { ...stay, removal: { ...removal, lastSeen } };
  });
}

/** The stays in the order of responses, with their places among those that began together. */
export function inOrder(stays: readonly RecordStay[]): RecordStay[] {
  const ordered = [...stays].sort(
    (a, b) => compareInstants(a.firstSeen, b.firstSeen) || compareDnsRecords(a.record, b.record),
  );
  let position = 0;
  return ordered.map((stay, at) => {
    const before = ordered[at - 1];
    const isTogether = before?.firstSeen === stay.firstSeen && before.record.type === stay.record.type;
    position = isTogether ? position + 1 : 0;
    return { ...stay, position };
  });
}

function typesAfter(state: DomainState, changed: readonly TypeGroup[]): DomainState['types'] {
  const types = new Map(state.types);
  for (const { type, names, stays } of changed) {
    const named = joinedTimes(names.map((name) => state.types.get(name)?.named ?? null));
    for (const name of names) types.delete(name);
    for (const name of new Set([type, ...stays.map(({ record }) => record.type)])) {
      const present = stays.filter(({ record, removal }) => record.type === name && removal === null);
      const records = present.map(({ record }) => record).sort(compareDnsRecords);
      types.set(name, { digest: digestOfRecords(records), named });
    }
  }
  return types;
}

function joinedTimes(parts: readonly (PartTimes | null)[]): PartTimes | null {
  const known = parts.filter((part) => part !== null);
  const [first] = known.map((part) => part.first).sort(compareInstants);
  const latest = known
    .map((part) => part.latest)
    .sort(compareInstants)
    .at(-1);
  return first === undefined || latest === undefined ? null : { first, latest };
}
