import type { Sighting } from '../history/apply-observation.js';
import { type Moment, momentsOf, sightingsOf } from '../history/moments.js';
import { OTHER_TYPES, type RecordStay } from '../history/state.js';
import { isKnown } from '../history/stays-as-of.js';
import type { StoredHistory } from '../history/stored-history.js';
import { type DnsRecord, dnsRecordData } from '../model/dns-record.js';
import { canonicalType, TYPE_NAMES } from '../model/dns-types.js';
import { compareInstants, formatInstant, type Instant } from '../model/instant.js';
import type { SiteResponse } from '../model/observation.js';
import { type ExportFormat, isReadable, type Omit, selectedPeriods } from './export-format.js';
import { isSelected, type Selection } from './selection.js';

export const DMS: ExportFormat = { head: '', linesOf: exportDms };

/**
 * A domain's history as lines of format `dms`, each with its line feed: recorded elsewhere, they give
 * the same history; with an instant, the history that was known then; with a selection, that of what is selected.
 */
export function* exportDms(
  history: StoredHistory,
  selection: Selection = {},
  omit: Omit = () => {},
): Generator<string> {
  const { at } = selection;
  const readable = readableHistory(history, at, omit);
  const select = selector(readable, selection);
  const unknown = TYPE_NAMES.find((type) => !readable.state.types.has(type)) ?? '';
  const responses = new Map(history.responses.map((response) => [response.observedAt, response]));
  for (const moment of momentsOf(readable)) {
    // In the order of time: no later one is known then, neither what it changed nor that it was.
    if (!isKnown(moment.observedAt, at)) break;
    const written = select(moment);
    if (written === null) continue;
    const types = written.types && importable(written.types, unknown);
    const site = written.headers === null ? undefined : responses.get(moment.observedAt);
    yield `${JSON.stringify(observationOf(history.name, { ...written, types, site }))}\n`;
  }
  const stays = readable.stays.filter((stay) => isSelected(selection, asOf(stay, at)));
  for (const sightings of sightingsByLine({ ...readable, stays })) {
    const [{ seenAt, source }] = sightings;
    if (!isKnown(seenAt, at)) continue;
    const moment = { observedAt: seenAt, source, types: null, headers: null };
    const line = { ...observationOf(history.name, { ...moment, stays: sightings }), sighted: true };
    yield `${JSON.stringify(line)}\n`;
  }
}

function asOf({ record, removal }: RecordStay, at: Instant | undefined) {
  return {
    type: record.type,
    removed: removal !== null && isKnown(removal.removed, at) ? removal.removed : null,
  };
}

/** Types as a line may name them. @param unknown One of OTHER_TYPES. */
function importable(types: readonly string[], unknown: string): readonly string[] {
  const known = types.filter((type) => type !== OTHER_TYPES);
  return known.length === 0 ? [unknown] : known;
}

/** What the moments of a history tell of what is selected; null: nothing. They are all kept: they tell when it was seen. */
function selector(history: StoredHistory, selection: Selection): (moment: Moment) => Moment | null {
  const { at, types: wanted, present = false } = selection;
  if (wanted === undefined && !present) return (moment) => moment;
  const since = new Map(
    selectedPeriods(history, { at, present: true }).map(({ name, firstSeen }) => [name, firstSeen]),
  );
  const hasValue = (name: string, time: Instant) => !present || (since.get(name) ?? time + 1n) <= time;
  return ({ observedAt, source, stays, types, headers }) => {
    const asked =
      wanted === undefined ? types : (types?.filter((type) => wanted.has(type)) ?? [...wanted].sort());
    const hasDns = stays !== null && asked?.length !== 0;
    const hasHttp = headers !== null && wanted === undefined;
    if (!hasDns && !hasHttp) return null;
    return {
      ...{ observedAt, source, types: hasDns ? asked : null },
      stays: hasDns ? stays.filter((stay) => isSelected(selection, asOf(stay, at))) : null,
      headers: hasHttp ? new Map([...headers].filter(([name]) => hasValue(name, observedAt))) : null,
    };
  };
}

/** The sightings of a history, in the order of time, those of one time and observer together. */
function sightingsByLine(history: StoredHistory): [Sighting, ...Sighting[]][] {
  const lines = new Map<string, [Sighting, ...Sighting[]]>();
  for (const sighting of sightingsOf(history)) {
    const key = `${sighting.seenAt} ${sighting.source ?? ''}`;
    const line = lines.get(key);
    if (line === undefined) lines.set(key, [sighting]);
    // A record that was seen once began and was seen last then.
    else if (line.at(-1)?.record !== sighting.record) line.push(sighting);
  }
  return [...lines.values()].sort(([a], [b]) => compareInstants(a.seenAt, b.seenAt));
}

/** A history without the records that no import takes. */
function readableHistory(history: StoredHistory, at: Instant | undefined, omit: Omit): StoredHistory {
  const isImportable = (type: string) => canonicalType(type) === type || type === OTHER_TYPES;
  const types = new Map([...history.state.types].filter(([type]) => isImportable(type)));
  const stays = history.stays.filter(({ record, firstSeen }) => {
    if (isReadable(record)) return true;
    if (isKnown(firstSeen, at)) omit('unreadable');
    return false;
  });
  return { ...history, state: { ...history.state, types }, stays };
}

/** A moment, or sightings in place of its records. */
interface Written extends Pick<Moment, 'observedAt' | 'types' | 'headers' | 'source'> {
  readonly stays: readonly { readonly record: DnsRecord }[] | null;
  /** Where the headers came from, if that is known. */
  readonly site?: SiteResponse | undefined;
}

function observationOf(domain: string, { observedAt, stays, types, headers, site, source }: Written): object {
  return {
    domain,
    observedAt: formatInstant(observedAt),
    ...(stays === null ? {} : { dnsRecords: stays.map(({ record }) => dnsRecordData(record)) }),
    ...(types === null ? {} : { dnsTypes: types }),
    ...(headers === null ? {} : { httpHeaders: Object.fromEntries(headers) }),
    ...(site === undefined ? {} : { site: { scheme: site.scheme, status: site.status } }),
    ...(source === null ? {} : { source }),
  };
}
