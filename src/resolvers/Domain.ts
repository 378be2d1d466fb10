import type { HeaderEntry } from '../loaders/header-entries.js';
import { registrableDomain, unicodeName } from '../model/domain-name.js';
import { loadedPart } from './loaded-part.js';
import { selectDnsEntries, selectHeaders } from './select-entries.js';
import type { DomainResolvers } from './types.generated.js';

export const Domain: DomainResolvers = {
  unicodeName: ({ name }) => unicodeName(name),
  registrableDomain: ({ name }) => registrableDomain(name),
  version: ({ version }) => String(version),
  dnsRecordCount: ({ counts }) => loadedPart(counts).dnsRecords,
  httpHeaderCount: ({ counts }) => loadedPart(counts).httpHeaders,
  changeCount: ({ counts }) => loadedPart(counts).changes,
  dnsRecords: ({ dnsRecords }, args, { answer }, info) => {
    const entries = selectDnsEntries(loadedPart(dnsRecords), args);
    answer?.take(entries.length, info);
    return entries;
  },
  httpHeaders: ({ httpHeaders }, args, { answer }, info) => {
    const entries = selectHeaders(loadedPart(httpHeaders), args);
    answer?.take(withHistory(entries), info);
    return entries;
  },
};

/** How many headers and changes of them there are. */
function withHistory(headers: readonly HeaderEntry[]): number {
  return headers.reduce((sum, { history }) => sum + history.length, headers.length);
}
