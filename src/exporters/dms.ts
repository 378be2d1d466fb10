import { momentsOf, sightingMoments } from '../history/moments.js';
import { NOT, OTHER_TYPES } from '../history/state.js';
import { isKnown } from '../history/stays-as-of.js';
import type { StoredHistory } from '../history/stored-history.js';
import { dnsRecordData, recordsByType } from '../model/dns-record.js';
import { addTo } from '../model/groups.js';
import { compareInstants, formatInstant, type Instant } from '../model/instant.js';
import type { DnsObservation, Observation } from '../model/observation.js';
import { type ExportFormat, isSelected, type Selection } from './export-format.js';

export const DMS: ExportFormat = { head: '', linesOf: exportDms };

/**
 * Lines of format `dms`, each with its line feed, that give the same history where they are recorded: with an
 * instant, what was known then; with types, theirs. Of what is present, the latest observation of each part.
 */
export function* exportDms(history: StoredHistory, selection: Selection = {}): Generator<string> {
  const { at, present = false } = selection;
  for (const moment of present ? latestMoments(history, at) : momentsOf(history)) {
    // In the order of time: no later one is known then, neither what it changed nor that it was.
    if (!isKnown(moment.observedAt, at)) break;
    const selected = selectTypes(moment, selection);
    if (selected === null) continue;
    const { dns, httpHeaders } = selected;
    const site = httpHeaders && moment.response;
    yield lineOf(selected, {
      dnsTypes: dns?.types && toDnsTypes(dns.types, history),
      httpHeaders: httpHeaders && Object.fromEntries(httpHeaders),
      site: site && { scheme: site.scheme, status: site.status },
    });
  }
  const stays = history.stays.filter(({ record: { type }, removal }) => {
    const removed = removal !== null && isKnown(removal.removed, at) ? removal.removed : null;
    return isSelected(selection, type, removed);
  });
  for (const line of sightingsByLine({ ...history, stays })) {
    if (isKnown(line.observedAt, at)) yield lineOf(line, {}, { sighted: true });
  }
}

/** Its keys are in the order of the documents. */
function lineOf({ domain, observedAt, dns, source }: Observation, parts: object, sighted = {}): string {
  const dnsRecords = dns && [...dns.records.values()].flat().map(dnsRecordData);
  const line = { domain, observedAt: formatInstant(observedAt), dnsRecords, ...parts, source, ...sighted };
  return `${JSON.stringify(line)}\n`;
}

/** Types as a line names them: OTHER_TYPES are none of those that are known. */
function toDnsTypes(types: ReadonlySet<string>, { state }: StoredHistory): readonly string[] {
  if (!types.has(OTHER_TYPES)) return [...types];
  const named = [...types].filter((type) => type !== OTHER_TYPES);
  const except = [...state.types.keys()].filter((type) => !types.has(type)).sort();
  return [...named, OTHER_TYPES, ...except.map((type) => `${NOT}${type}`)];
}

/** Null: it tells nothing of them. One without records is kept, since it tells that there were none. */
function selectTypes(moment: Observation, { types: wanted }: Selection): Observation | null {
  if (wanted === undefined) return moment;
  const { dns, httpHeaders: _, ...rest } = moment;
  const types = [...(dns?.types ?? [...wanted].sort())].filter((type) => wanted.has(type));
  return dns === undefined || types.length === 0 ? null : { ...rest, dns: onlyTypes(dns, types) };
}

function onlyTypes({ records }: DnsObservation, types: readonly string[]): DnsObservation {
  return { types: new Set(types), records: new Map([...records].filter(([type]) => types.includes(type))) };
}

/**
 * The latest observation of each part up to an instant, in the order of time. Earlier ones held what is gone,
 * too, and without it they would tell of an absence that nobody has seen.
 */
function latestMoments(history: StoredHistory, at: Instant | undefined): Observation[] {
  let [ofAll, ofHttp]: (Observation | undefined)[] = [];
  const byType = new Map<string, Observation>();
  for (const moment of momentsOf(history)) {
    if (!isKnown(moment.observedAt, at)) break;
    if (moment.httpHeaders !== undefined) ofHttp = moment;
    for (const type of moment.dns?.types ?? []) byType.set(type, moment);
    if (moment.dns === undefined || moment.dns.types !== undefined) continue;
    ofAll = moment;
    byType.clear();
  }
  const others = [...history.state.types.keys()].filter((type) => type !== OTHER_TYPES && !byType.has(type));
  const latestDns = (moment: Observation) => {
    if (moment.dns === undefined || (moment === ofAll && byType.size === 0)) return moment.dns;
    const named = [...(moment.dns.types ?? [])].filter((type) => byType.get(type) === moment);
    const types = moment === ofAll ? others : named;
    return types.length === 0 ? undefined : onlyTypes(moment.dns, types);
  };
  return [...new Set([ofAll, ofHttp, ...byType.values()])]
    .filter((moment) => moment !== undefined)
    .sort((one, other) => compareInstants(one.observedAt, other.observedAt))
    .flatMap((moment) => {
      const { httpHeaders, dns: _, ...rest } = moment;
      const [dns, headers] = [latestDns(moment), moment === ofHttp ? httpHeaders : undefined];
      if (dns === undefined && headers === undefined) return [];
      return [{ ...rest, ...(dns && { dns }), ...(headers && { httpHeaders: headers }) }];
    });
}

/** In the order of time, those of one time and observer together. */
function sightingsByLine(history: StoredHistory): Observation[] {
  const lines = new Map<string, Observation[]>();
  for (const moment of sightingMoments(history))
    addTo(lines, `${moment.observedAt} ${moment.source ?? ''}`, moment);
  const merged = [...lines.values()].flatMap((moments) => {
    const records = moments.flatMap(({ dns }) => [...(dns?.records.values() ?? [])].flat());
    return moments.slice(0, 1).map((first) => ({ ...first, dns: { records: recordsByType(records) } }));
  });
  return merged.sort((a, b) => compareInstants(a.observedAt, b.observedAt));
}
