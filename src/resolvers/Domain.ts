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
  dnsRecords: ({ dnsRecords }, args) => selectDnsEntries(loadedPart(dnsRecords), args),
  httpHeaders: ({ httpHeaders }, args) => selectHeaders(loadedPart(httpHeaders), args),
};
