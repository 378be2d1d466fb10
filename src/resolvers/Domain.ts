import { compareStates } from '../loaders/state-diff.js';
import { unicodeName } from '../model/domain-name.js';
import { PublicError } from '../model/errors.js';
import { formatInstant, requireReached } from '../model/instant.js';
import { registrableDomain } from '../model/registrable-domain.js';
import { memberOf } from './DnsRecord.js';
import { loadedPart } from './needed-parts.js';
import type { RequestBudget } from './request-budget.js';
import { selectDnsEntries, selectHeaders } from './select-entries.js';
import { type Selecting, sizeOfObjects } from './selection-size.js';
import type { DomainDiffResolvers, DomainResolvers } from './types.generated.js';

export const Domain: DomainResolvers = {
  unicodeName: ({ name }) => unicodeName(name),
  registrableDomain: ({ name }) => registrableDomain(name),
  version: ({ version }) => String(version),
  dnsRecordCount: ({ counts }) => loadedPart(counts).dnsRecords,
  httpHeaderCount: ({ counts }) => loadedPart(counts).httpHeaders,
  changeCount: ({ counts }) => loadedPart(counts).changes,
  dnsRecords: ({ dnsRecords }, args, { budget }, info) =>
    granted(() => selectDnsEntries(loadedPart(dnsRecords), args), memberOf, budget, info),
  httpHeaders: ({ httpHeaders }, args, { budget }, info) =>
    granted(
      () => selectHeaders(loadedPart(httpHeaders), args),
      () => 'HeaderHistory',
      budget,
      info,
    ),
  async diff(history, { from, to }, { budget, viewer }) {
    if (from > to) {
      const message = `from, ${formatInstant(from)}, is later than to, ${formatInstant(to)}: exchange them.`;
      throw new PublicError('INVALID_PARAMETER', message);
    }
    requireReached(to, BigInt(Date.now()) * 1_000n);
    const dnsRecords = loadedPart(history.dnsRecords);
    const httpHeaders = loadedPart(history.httpHeaders);
    await budget.count((dnsRecords.length + httpHeaders.length) * OCTETS_OF_ENTRY);
    return compareStates({ dnsRecords, httpHeaders }, from, to, viewer.rateLimitKey);
  },
};

export const DomainDiff: DomainDiffResolvers = {
  dnsRecordsAdded: ({ dnsRecordsAdded }, _args, { budget }, info) =>
    granted(() => dnsRecordsAdded, memberOf, budget, info),
  dnsRecordsRemoved: ({ dnsRecordsRemoved }, _args, { budget }, info) =>
    granted(() => dnsRecordsRemoved, memberOf, budget, info),
  httpHeaders: ({ httpHeaders }, _args, { budget }, info) =>
    granted(
      () => httpHeaders,
      () => 'HeaderDifference',
      budget,
      info,
    ),
};

/** Comparing each entry of a history takes as long as counting so many octets of it. */
const OCTETS_OF_ENTRY = 128;

/** The entries of a list, once the request's budget has room for what is selected of them. */
function granted<Entry extends object>(
  select: () => readonly Entry[],
  typeOf: (entry: Entry) => string,
  budget: RequestBudget,
  selecting: Selecting,
): readonly Entry[] | Promise<readonly Entry[]> {
  if (!budget.limited) return select();
  // Nothing is selected for a response that has too much already.
  const left = budget.left();
  const entries = select();
  const payment = budget.take(sizeOfObjects(entries, typeOf, selecting, left));
  return payment === undefined ? entries : payment.then(() => entries);
}
