import { unicodeName } from '../model/domain-name.js';
import { PublicError } from '../model/errors.js';
import { formatInstant, type Instant } from '../model/instant.js';
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
  async diff({ name, at }, { from, to }, { loaders, budget, recipient }) {
    if (from > to) {
      const message = `from, ${formatInstant(from)}, is later than to, ${formatInstant(to)}.`;
      throw new PublicError('INVALID_PARAMETER', message);
    }
    // What came after the domain's own instant is not known.
    const known = (instant: Instant) => (at !== undefined && at < instant ? at : instant);
    const key = { name, from: known(from), to: known(to), recipient };
    const diff = await loaders.domainDiff.load(key, (octets) =>
      budget.count(Math.max(octets, OCTETS_OF_DIFF)),
    );
    return { ...diff, from, to };
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

/** A difference of an ordinary domain costs as if so much of its history were counted: half a unit of the rate limit. */
const OCTETS_OF_DIFF = 128 * 1024;

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
