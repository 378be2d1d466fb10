import type { DnsRecordResult } from './domain-result.js';

/** The `data` of a record (specification, 2.3): its keys in the order in which they are written. */
type PresentData = (entry: DnsRecordResult) => object;

// Written out by type, since an answer has dozens of records: objects of few fixed shapes are made and
// turned into JSON several times faster than those whose keys are only known at run time.

const presentTarget: PresentData = ({ host, class: dnsClass, type, target }) => ({
  host,
  class: dnsClass,
  type,
  target,
});

const presentOther: PresentData = ({ host, class: dnsClass, type, data }) => ({
  host,
  class: dnsClass,
  type,
  data,
});

const DATA_OF_TYPE: ReadonlyMap<string, PresentData> = new Map<string, PresentData>([
  ['A', ({ host, class: dnsClass, type, ip }) => ({ host, class: dnsClass, type, ip })],
  ['AAAA', ({ host, class: dnsClass, type, ipv6 }) => ({ host, class: dnsClass, type, ipv6 })],
  ['NS', presentTarget],
  ['CNAME', presentTarget],
  ['PTR', presentTarget],
  [
    'SOA',
    (entry) => ({
      host: entry.host,
      class: entry.class,
      type: entry.type,
      mname: entry.mname,
      rname: entry.rname,
      serial: entry.serial,
      refresh: entry.refresh,
      retry: entry.retry,
      expire: entry.expire,
      'minimum-ttl': entry.minimumTtl,
    }),
  ],
  ['TXT', ({ host, class: dnsClass, type, txt, entries }) => ({ host, class: dnsClass, type, txt, entries })],
  ['MX', ({ host, class: dnsClass, type, pri, target }) => ({ host, class: dnsClass, type, pri, target })],
  [
    'SRV',
    (entry) => ({
      host: entry.host,
      class: entry.class,
      type: entry.type,
      pri: entry.pri,
      weight: entry.weight,
      port: entry.port,
      target: entry.target,
    }),
  ],
  [
    'CAA',
    ({ host, class: dnsClass, type, flags, tag, value }) => ({
      host,
      class: dnsClass,
      type,
      flags,
      tag,
      value,
    }),
  ],
  [
    'NAPTR',
    (entry) => ({
      host: entry.host,
      class: entry.class,
      type: entry.type,
      order: entry.order,
      pref: entry.pref,
      flags: entry.naptrFlags,
      services: entry.services,
      regex: entry.regex,
      replacement: entry.replacement,
    }),
  ],
  ['HINFO', ({ host, class: dnsClass, type, cpu, os }) => ({ host, class: dnsClass, type, cpu, os })],
]);

/** The DNS record entries of a body (specification, 2.2 and 2.3), in the order that they come in. */
export function presentDnsRecords(entries: readonly DnsRecordResult[]): object[] {
  const presented: object[] = [];
  for (const entry of entries) {
    const present = DATA_OF_TYPE.get(entry.type) ?? presentOther;
    presented.push({ data: present(entry), firstSeen: entry.firstSeen, removed: entry.removed });
  }
  return presented;
}
