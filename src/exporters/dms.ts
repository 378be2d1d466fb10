import type { Sighting } from '../history/apply-observation.js';
import { type Moment, momentsOf, sightingsOf } from '../history/moments.js';
import { NOT, OTHER_TYPES, type RecordStay } from '../history/state.js';
import { isKnown } from '../history/stays-as-of.js';
import type { StoredHistory } from '../history/stored-history.js';
import { type DnsRecord, dnsRecordData } from '../model/dns-record.js';
import { compareInstants, formatInstant, type Instant } from '../model/instant.js';
import type { SiteResponse } from '../model/observation.js';
import type { ExportFormat } from './export-format.js';
import { isSelected, type Selection } from './selection.js';

export const DMS: ExportFormat = { head: '', linesOf: exportDms };

/**
 * A domain's history as lines of format `dms`, each with its line feed: recorded elsewhere, they give
 * the same history; with an instant, the history that was known then; with types, theirs. Of what is present, the latest observation of
 * each part.
 */
export function* exportDms(history: StoredHistory, selection: Selection = {}): Generator<string> {
  const { at, present = false } = selection;
  const responses = new Map(history.responses.map((response) => [response.observedAt, response]));
  for (const moment of present ? latestMoments(history, at) : momentsOf(history)) {
    // In the order of time: no later one is known then, neither what it changed nor that it was.
    if (!isKnown(moment.observedAt, at)) break;
    const selected = ofTypes(moment, selection);
    if (selected === null) continue;
    const types = selected.types && toDnsTypes(selected.types, history);
    const site = selected.headers === null ? undefined : responses.get(moment.observedAt);
    yield `${JSON.stringify(observationOf(history.name, { ...selected, types, site }))}\n`;
  }
  const stays = history.stays.filter((stay) => isSelected(selection, asOf(stay, at)));
  for (const sightings of sightingsByLine({ ...history, stays })) {
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

/** Types as a line names them: OTHER_TYPES are none of those that are known. */
function toDnsTypes(types: readonly string[], { state }: StoredHistory): readonly string[] {
  if (!types.includes(OTHER_TYPES)) return types;
  const named = types.filter((type) => type !== OTHER_TYPES);
  const except = [...state.types.keys()].filter((type) => !types.includes(type)).sort();
  return [...named, OTHER_TYPES, ...except.map((type) => `${NOT}${type}`)];
}

/** What a moment tells of the types that are selected; null: nothing. It is kept where it tells that there was nothing: that was seen. */
function ofTypes(moment: Moment, { types: wanted }: Selection): Moment | null {
  if (wanted === undefined) return moment;
  const types = moment.types?.filter((type) => wanted.has(type)) ?? [...wanted].sort();
  if (moment.stays === null || types.length === 0) return null;
  return {
    ...moment,
    types,
    stays: moment.stays.filter(({ record }) => wanted.has(record.type)),
    headers: null,
  };
}

/**
 * The latest observation of each part up to an instant, in the order of time: it held what was present then, whole. Earlier ones
 * held what is gone, too, and without it they would tell of an absence that nobody has seen.
 */
function latestMoments(history: StoredHistory, at: Instant | undefined): Moment[] {
  let [ofAll, ofHttp]: (Moment | undefined)[] = [];
  const byType = new Map<string, Moment>();
  for (const moment of momentsOf(history)) {
    if (!isKnown(moment.observedAt, at)) break;
    if (moment.headers !== null) ofHttp = moment;
    for (const type of moment.types ?? []) byType.set(type, moment);
    if (moment.stays === null || moment.types !== null) continue;
    ofAll = moment;
    byType.clear();
  }
  const others = [...history.state.types.keys()].filter((type) => type !== OTHER_TYPES && !byType.has(type));
  const typesOf = (moment: Moment) => {
    if (moment !== ofAll) return moment.types?.filter((type) => byType.get(type) === moment) ?? [];
    return byType.size === 0 ? null : others;
  };
  return [...new Set([ofAll, ofHttp, ...byType.values()])]
    .filter((moment) => moment !== undefined)
    .sort((one, other) => compareInstants(one.observedAt, other.observedAt))
    .map((moment) => {
      const headers = moment === ofHttp ? moment.headers : null;
      const types = typesOf(moment);
      if (types?.length === 0) return { ...moment, types: null, stays: null, headers };
      const stays = moment.stays?.filter(({ record }) => types?.includes(record.type) ?? true) ?? null;
      return { ...moment, types, stays, headers };
    })
    .filter(({ stays, headers }) => stays !== null || headers !== null);
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
