import { presentDnsRecords } from './dns-records.js';
import type { DomainResult } from './domain-result.js';

/** Makes the body of an answer from what the stored operation has given for the domain. */
export type Presenter = (domain: DomainResult) => object;

/** Get domain (specification, 2.1). */
export const presentHistory: Presenter = ({ domain, created, lastUpdate, dnsRecords, httpHeaders }) => ({
  domain,
  created,
  lastUpdate,
  dnsRecords: presentDnsRecords(dnsRecords),
  httpHeaders,
});

/** Domain DNS info. */
export const presentDnsInfo: Presenter = ({ domain, created, lastUpdate, dnsRecords }) => ({
  domain,
  created,
  lastUpdate,
  dnsRecords: presentDnsRecords(dnsRecords),
});

/** For operations that select, besides the validators, just what the body shows, under its names and in its order. */
export const presentAsSelected: Presenter = ({ version, ...selected }) => selected;
