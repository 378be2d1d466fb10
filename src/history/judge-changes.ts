import type { RoutineReason } from '../model/change-kinds.js';
import type { Instant } from '../model/instant.js';
import type { DnsChanges } from './diff.js';
import {
  type EarlierChanges,
  hasFollowing,
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

/** The rdata that an RRset had before, gets and loses. */
interface ChangingRRset {
  readonly before: string[];
  /** Empty in the first observation of the type. */
  readonly gets: string[];
  readonly loses: string[];
  /** Why changes are routine by what is in them, by rdata; null: none is. */
  byContent: ReadonlyMap<string, RoutineReason> | null;
  /** Why the others are. */
  reason: RoutineReason | null;
}

/**
 * Says of the changes of one DNS type why they are routine, by RRset.
 *
 * @param present What was present before.
 */
export function judgeRecords(
  changes: DnsChanges,
  present: readonly RecordStay[],
  grounds: Grounds,
): DnsChanges & Judged {
  const rrsets = changingRRsets(changes, present, grounds);
  const type = (changes.added[0] ?? changes.removed[0])?.record.type ?? '';
  const earlier: EarlierChanges[] = [];
  for (const [host, rrset] of rrsets) judgeRRset(type, host, rrset, grounds, earlier);
  const reasonOf = ({ record: { host, rdata } }: RecordStay) => {
    const rrset = rrsets.get(host);
    return rrset?.byContent?.get(rdata) ?? rrset?.reason ?? null;
  };
  return {
    added: changes.added.map((stay) => {
      const routine = grounds.isFirst ? 'INITIAL' : reasonOf(stay);
      return routine === null ? stay : { ...stay, routine };
    }),
    removed: changes.removed.map((stay) => {
      const routine = reasonOf(stay);
      return routine === null ? stay : { ...stay, removal: stay.removal && { ...stay.removal, routine } };
    }),
    earlier,
  };
}

function changingRRsets(
  { added, removed }: DnsChanges,
  present: readonly RecordStay[],
  { isFirst }: Grounds,
): Map<string, ChangingRRset> {
  const rrsets = new Map<string, ChangingRRset>();
  const changing = (host: string) => {
    const rrset = rrsets.get(host) ?? { before: [], gets: [], loses: [], byContent: null, reason: null };
    rrsets.set(host, rrset);
    return rrset;
  };
  if (!isFirst) for (const { record } of added) changing(record.host).gets.push(record.rdata);
  for (const { record } of removed) changing(record.host).loses.push(record.rdata);
  if (rrsets.size > 0) for (const { record } of present) rrsets.get(record.host)?.before.push(record.rdata);
  return rrsets;
}

/** @param earlier Where what the next changes are judged by is added, if that changes. */
function judgeRRset(
  type: string,
  host: string,
  rrset: ChangingRRset,
  { earlier: known, observedAt }: Grounds,
  earlier: EarlierChanges[],
): void {
  const { before, gets, loses } = rrset;
  if (hasFollowing(type)) {
    const byContent = reasonsByContent(type, rrset);
    rrset.byContent = byContent;
    if ([...gets, ...loses].every((rdata) => byContent.has(rdata))) return;
  }
  const said = (rdata: string) => withoutFollowing(type, rdata);
  const changes = known.get(partKey(type, host)) ?? noChanges(type, host, observedAt, before.map(said));
  const judged = judgeByEarlier(changes, observedAt, gets.map(said));
  earlier.push(judged.earlier);
  if (judged.isRotation) rrset.reason = 'ROTATING';
}

function reasonsByContent(
  type: string,
  { before, gets, loses }: ChangingRRset,
): ReadonlyMap<string, RoutineReason> {
  const gone = new Set(loses);
  const after = [...before.filter((rdata) => !gone.has(rdata)), ...gets];
  const reasons = new Map<string, RoutineReason>();
  const judge = (rdata: string, others: readonly string[]) => {
    const reason = routineOfRecord(type, rdata, others);
    if (reason === null) reasons.delete(rdata);
    else reasons.set(rdata, reason);
  };
  for (const rdata of loses) judge(rdata, after);
  for (const rdata of gets) judge(rdata, before);
  return reasons;
}

/** In a response of this status and above, the fields are those of an error page (RFC 9110, section 15.6). */
const SERVER_ERROR = 500;

/**
 * Says of the changes of headers why they are routine. What an error page changed is compared with the fields
 * before it.
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
    const changesBefore =
      earlier.get(partKey(HEADER, name)) ?? noChanges(HEADER, name, observedAt, said(steady));
    const { isRotation, earlier: next } = judgeByEarlier(changesBefore, observedAt, said(value));
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

/**
 * Says of a response whether it has another scheme or status than the one before, and why another status is
 * routine.
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
