import type { RoutineReason } from '../model/change-kinds.js';
import { addTo } from '../model/groups.js';
import type { Instant } from '../model/instant.js';
import type { DnsChanges } from './diff.js';
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
  type EarlierByPart,
  type HeaderChange,
  type HeaderState,
  isStatusChange,
  partKey,
  type RecordStay,
  type ResponseChange,
  type SiteState,
} from './state.js';

/** What the changes of an observation are judged by. */
interface Grounds {
  readonly observedAt: Instant;
  /** Whether it is the first of the part: what it shows was there before, for all that is known. */
  readonly isFirst: boolean;
  readonly earlier: EarlierByPart;
}

/** What the next changes of the RRsets and headers that changed are judged by. */
interface Judged {
  readonly earlier: readonly EarlierChanges[];
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
): DnsChanges & Judged {
  const came = rdataByHost(grounds.isFirst ? [] : added);
  const went = rdataByHost(removed);
  const hosts = new Set([...came.keys(), ...went.keys()]);
  const had = rdataByHost(present.filter(({ record }) => hosts.has(record.host)));
  const type = (added[0] ?? removed[0])?.record.type ?? '';
  const reasons = new Map<string, ReadonlyMap<string, RoutineReason | null>>();
  const earlier: EarlierChanges[] = [];
  for (const host of hosts) {
    const [before = [], gets = [], loses = []] = [had, came, went].map((records) => records.get(host));
    const judged = judgeRRset({ type, host, before, gets, loses }, grounds);
    reasons.set(host, judged.reasons);
    if (judged.earlier !== null) earlier.push(judged.earlier);
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

function rdataByHost(stays: readonly RecordStay[]): Map<string, string[]> {
  const records = new Map<string, string[]>();
  for (const { record } of stays) addTo(records, record.host, record.rdata);
  return records;
}

/** An RRset that changes: the rdata that it had before, gets and loses. */
interface ChangingRRset {
  readonly type: string;
  readonly host: string;
  readonly before: readonly string[];
  readonly gets: readonly string[];
  readonly loses: readonly string[];
}

/** @returns by rdata, why its coming or going is routine. */
function judgeRRset(
  { type, host, before, gets, loses }: ChangingRRset,
  { earlier, observedAt }: Grounds,
): { readonly reasons: ReadonlyMap<string, RoutineReason | null>; readonly earlier: EarlierChanges | null } {
  const gone = new Set(loses);
  const after = [...before.filter((rdata) => !gone.has(rdata)), ...gets];
  const reasons = new Map<string, RoutineReason | null>([
    ...loses.map((rdata) => [rdata, routineOfRecord(type, rdata, after)] as const),
    ...gets.map((rdata) => [rdata, routineOfRecord(type, rdata, before)] as const),
  ]);
  const others = [...reasons].filter(([, reason]) => reason === null);
  if (others.length === 0) return { reasons, earlier: null };
  const said = (rdata: string) => withoutFollowing(type, rdata);
  const known = earlier.get(partKey(type, host)) ?? noChanges(type, host, observedAt, before.map(said));
  const judged = judgeByEarlier(known, observedAt, gets.map(said));
  if (judged.isRotation) for (const [rdata] of others) reasons.set(rdata, 'ROTATING');
  return { reasons, earlier: judged.earlier };
}

/** In a response of this status and above, the fields are those of an error page (RFC 9110, section 15.6). */
const SERVER_ERROR = 500;

/**
 * Says of the changes of headers why they are routine. What an error page changed is compared with the fields before it.
 *
 * @param known Every header ever seen, before the changes.
 * @param status Of the response; undefined: it is not known.
 */
export function judgeHeaders(
  changes: readonly HeaderChange[],
  known: ReadonlyMap<string, HeaderState>,
  status: number | undefined,
  { earlier, isFirst, observedAt }: Grounds,
): { readonly headers: readonly HeaderChange[] } & Judged {
  const judged: EarlierChanges[] = [];
  const reasonOf = ({ name, value }: HeaderChange): RoutineReason | null => {
    if (isFirst) return 'INITIAL';
    const steady = known.get(name)?.steady ?? null;
    if ((status ?? 0) >= SERVER_ERROR || value === steady) return 'ERROR_PAGE';
    const reason = routineOfHeader(name, steady, value);
    if (reason !== null) return reason;
    const said = (each: string | null) => (each === null ? [] : [withoutNonce(each)]);
    const changesBefore = earlier.get(partKey('', name)) ?? noChanges('', name, observedAt, said(steady));
    const { isRotation, earlier: next } = judgeByEarlier(changesBefore, observedAt, said(value));
    judged.push(next);
    return isRotation ? 'ROTATING' : null;
  };
  return { headers: changes.map((change) => ({ ...change, routine: reasonOf(change) })), earlier: judged };
}

/** Of the rows of earlier changes: no DNS type has lower case, and the type of headers is empty. */
const SITE = 'site';

/**
 * Says of a response whether it has another scheme or status than the one before, and why another status is routine.
 *
 * @param before How the site responded before; null: that is not known.
 */
export function judgeResponse(
  response: Omit<ResponseChange, 'routine' | 'old'>,
  before: SiteState | null,
  earlier: EarlierByPart,
): Judged & { readonly response: ResponseChange; readonly state: SiteState; readonly isAnother: boolean } {
  const { scheme, status, observedAt } = response;
  const isAnother = before?.scheme !== scheme || before.status !== status;
  const first = isAnother ? observedAt : (before?.first ?? observedAt);
  const state = { scheme, status, first, latest: observedAt };
  const change = { ...response, old: before?.status ?? null, routine: null };
  if (!isStatusChange(change)) return { response: change, state, isAnother, earlier: [] };
  const known = earlier.get(partKey(SITE, '')) ?? noChanges(SITE, '', observedAt, [String(change.old)]);
  const judged = judgeByEarlier(known, observedAt, [String(status)]);
  const routine = judged.isRotation ? 'ROTATING' : null;
  return { response: { ...change, routine }, state, isAnother, earlier: [judged.earlier] };
}
