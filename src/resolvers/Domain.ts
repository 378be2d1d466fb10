import { observedParts } from '../loaders/observed-parts.js';
import { compareStates, weightOf } from '../loaders/state-diff.js';
import { unicodeName } from '../model/domain-name.js';
import { PublicError } from '../model/errors.js';
import { formatInstant, requireReached } from '../model/instant.js';
import { registrableDomain } from '../model/registrable-domain.js';
import { changesOf } from './Change.js';
import { memberOf } from './DnsRecord.js';
import { allOf, granted } from './granted.js';
import { loadedPart } from './needed-parts.js';
import { selectDnsEntries, selectHeaders } from './select-entries.js';
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
  changes: (history, args, context) => changesOf(history, args, context),
  async parts({ name, times, at }, _args, { loaders, recipient }) {
    const attempt = at === undefined ? await loaders.attempt.load({ name, recipient }) : null;
    return observedParts(loadedPart(times), attempt);
  },
  async diff(history, { from, to }, { budget }) {
    if (from > to) {
      const message = `from, ${formatInstant(from)}, is later than to, ${formatInstant(to)}: exchange them.`;
      throw new PublicError('INVALID_PARAMETER', message);
    }
    requireReached(to, BigInt(Date.now()) * 1_000n);
    const dnsRecords = loadedPart(history.dnsRecords);
    const httpHeaders = loadedPart(history.httpHeaders);
    const lists = { dnsRecords, httpHeaders };
    if (!budget.isOver) await budget.compare(weightOf(lists));
    return budget.inTurns(() => compareStates(budget.isOver ? NOTHING : lists, from, to, history.times));
  },
};

const NOTHING = { dnsRecords: [], httpHeaders: [] };

export const DomainDiff: DomainDiffResolvers = {
  dnsRecordsAdded: ({ dnsRecordsAdded }, _args, { budget }, info) =>
    granted(allOf(dnsRecordsAdded), memberOf, budget, info),
  dnsRecordsRemoved: ({ dnsRecordsRemoved }, _args, { budget }, info) =>
    granted(allOf(dnsRecordsRemoved), memberOf, budget, info),
  httpHeaders: ({ httpHeaders }, _args, { budget }, info) =>
    granted(allOf(httpHeaders), () => 'HeaderDifference', budget, info),
};
