import type { RoutineReason } from '../model/change-kinds.js';
import { addTo } from '../model/groups.js';
import type { Instant } from '../model/instant.js';
import type { Observation, SiteResponse } from '../model/observation.js';
import type { Changes, DnsChanges } from './diff.js';
import {
  type EarlierChanges,
  judgeByEarlier,
  noChanges,
  routineOfHeader,
  routineOfRecord,
  withoutFollowing,
  withoutNonce,
} from './routine.js';
import {
  type HeaderChange,
  type HeaderState,
  type Holdings,
  isStatusChange,
  partKey,
  type RecordStay,
  type ResponseChange,
  type SiteState,
} from './state.js';

interface Grounds {
  readonly observedAt: Instant;
  /** It is the first of the part: what it shows was there before, for all that is known. */
  readonly isFirst: boolean;
  readonly earlier: Holdings['earlier'];
}

/**
 * Says of the changes of one DNS type why they are routine, by RRset.
 *
 * @param present What was present before.
 */
export function judgeRecords(
  { added, removed }: DnsChanges,
  present: readonly RecordStay[],
  grounds: Grounds,
): DnsChanges & Pick<Changes, 'earlier'> {
  const type = (added[0] ?? removed[0])?.record.type ?? '';
  // What the first observation of a type shows does not come then.
  const gets = rdataByHost(grounds.isFirst ? [] : added);
  const [loses, before] = [rdataByHost(removed), rdataByHost(present)];
  const earlier: EarlierChanges[] = [];
  const reasons = new Map<string, ReadonlyMap<string, RoutineReason | null>>();
  for (const host of new Set([...gets.keys(), ...loses.keys()])) {
    const [had = [], came = [], went = []] = [before, gets, loses].map((rdata) => rdata.get(host));
    const rrset = { before: had, gets: came, loses: went };
    reasons.set(host, judgeRRset(type, host, rrset, grounds, earlier));
  }
  const reasonOf = ({ record: { host, rdata } }: RecordStay) => reasons.get(host)?.get(rdata) ?? null;
  return {
    added: added.map((stay) => {
      const routine = grounds.isFirst ? 'INITIAL' : reasonOf(stay);
      return routine === null ? stay : { ...stay, routine };
    }),
    removed: removed.map((stay) => {
      const routine = reasonOf(stay);
      return routine === null ? stay : { ...stay, removal: stay.removal && { ...stay.removal, routine } };
    }),
    earlier,
  };
}

function rdataByHost(stays: readonly RecordStay[]): ReadonlyMap<string, readonly string[]> {
  const rdata = new Map<string, string[]>();
  for (const { record } of stays) addTo(rdata, record.host, record.rdata);
  return rdata;
}

/**
 * @param earlier Where what the next changes are judged by is added, if that changes.
 * @returns by rdata, why its coming or going is routine; null: it is notable.
 */
function judgeRRset(
  type: string,
  host: string,
  { before, gets, loses }: Readonly<Record<'before' | 'gets' | 'loses', readonly string[]>>,
  { earlier: known, observedAt }: Grounds,
  earlier: EarlierChanges[],
): ReadonlyMap<string, RoutineReason | null> {
  const gone = new Set(loses);
  const after = [...before.filter((rdata) => !gone.has(rdata)), ...gets];
  const reasons = new Map([
    ...loses.map((rdata) => [rdata, routineOfRecord(type, rdata, after)] as const),
    ...gets.map((rdata) => [rdata, routineOfRecord(type, rdata, before)] as const),
  ]);
  const others = [...reasons].filter(([, reason]) => reason === null);
  if (others.length === 0) return reasons;
  const said = (rdata: string) => withoutFollowing(type, rdata);
  const changes = known.get(partKey(type, host)) ?? noChanges(type, host, observedAt, before.map(said));
  const judged = judgeByEarlier(changes, observedAt, gets.map(said));
  earlier.push(judged.earlier);
  if (judged.isRotation) for (const [rdata] of others) reasons.set(rdata, 'ROTATING');
  return reasons;
}

/** In a response of this status and above, the fields are those of an error page (RFC 9110, section 15.6). */
const SERVER_ERROR = 500;

/**
 * Says of the changes of headers why they are routine. What an error page changed is compared with the fields
 * before it.
 *
 * @param known Every header ever seen, before the changes.
 */
export function judgeHeaders(
  changes: readonly HeaderChange[],
  known: ReadonlyMap<string, HeaderState>,
  status: number | undefined,
  { earlier, isFirst, observedAt }: Grounds,
): Pick<Changes, 'headers' | 'earlier'> {
  const judged: EarlierChanges[] = [];
  const reasonOf = ({ name, value }: HeaderChange): RoutineReason | null => {
    if (isFirst) return 'INITIAL';
    const steady = known.get(name)?.steady ?? null;
    if ((status ?? 0) >= SERVER_ERROR || value === steady) return 'ERROR_PAGE';
    const reason = routineOfHeader(name, steady, value);
    if (reason !== null) return reason;
    const said = (each: string | null) => (each === null ? [] : [withoutNonce(each)]);
    const before = earlier.get(partKey(HEADER, name)) ?? noChanges(HEADER, name, observedAt, said(steady));
    const { isRotation, earlier: next } = judgeByEarlier(before, observedAt, said(value));
    judged.push(next);
    return isRotation ? 'ROTATING' : null;
  };
  const headers = changes.map((change) => {
    const routine = reasonOf(change);
    return routine === null ? change : { ...change, routine };
  });
  return { headers, earlier: judged };
}

/** In place of a DNS type, what is judged of a header's changes, and of a site's status, has these. */
export const HEADER = '';
export const SITE = 'site';

/** Says of a response whether its scheme or status is another, and why another status is routine. */
export function judgeResponse(
  { scheme, status, address }: SiteResponse,
  observation: Observation,
  before: SiteState | null,
  known: Holdings['earlier'],
) {
  const { observedAt, source = null } = observation;
  const isAnother = before?.scheme !== scheme || before.status !== status;
  const first = isAnother ? observedAt : before.first;
  const site = { scheme, status, first, latest: observedAt };
  const old = before?.status ?? null;
  const change: ResponseChange = { scheme, status, address, observedAt, source, old, routine: null };
  if (!isStatusChange(change)) return { change, site, isAnother, earlier: [] };
  const changes = known.get(partKey(SITE, '')) ?? noChanges(SITE, '', observedAt, [String(change.old)]);
  const { isRotation, earlier } = judgeByEarlier(changes, observedAt, [String(status)]);
  const judged: ResponseChange = { ...change, routine: isRotation ? 'ROTATING' : null };
  return { change: judged, site, isAnother, earlier: [earlier] };
}
