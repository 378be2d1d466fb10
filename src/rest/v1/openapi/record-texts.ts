const TARGET = 'in lower case without a final dot; `.` is the root.';

/** What each type's own fields mean, by type and field, for people. */
export const RDATA_FIELD_TEXTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  A: { ip: 'The IPv4 address.' },
  AAAA: { ipv6: 'The IPv6 address, as RFC 5952 writes it.' },
  NS: { target: `The name server, ${TARGET}` },
  CNAME: { target: `The name that this one stands for, ${TARGET}` },
  PTR: { target: `The name that is pointed to, ${TARGET}` },
  SOA: {
    mname: `The primary name server, ${TARGET}`,
    rname: 'The mailbox of who is responsible, in the form of a domain name.',
    serial: 'The serial number of the zone.',
    refresh: 'Seconds until secondaries ask again.',
    retry: 'Seconds until secondaries ask again after a failure.',
    expire: 'Seconds until secondaries answer no longer without news.',
    'minimum-ttl': 'Seconds for which a negative answer is cached, at most.',
  },
  TXT: {
    txt: 'The entries joined. `\\DDD` is a byte that is not UTF-8, as in a zone file.',
    entries: 'The character strings of the record, in their order.',
  },
  MX: { pri: 'The preference: the lowest is tried first.', target: `The mail server, ${TARGET}` },
  SRV: {
    pri: 'The priority: the lowest is tried first.',
    weight: 'The weight among servers of one priority.',
    port: 'The port of the service.',
    target: `The server, ${TARGET}`,
  },
  CAA: {
    flags: 'The flags: 128 is critical.',
    tag: 'The property, such as `issue`.',
    value: "The property's value.",
  },
  NAPTR: {
    order: 'The order in which records are processed.',
    pref: 'The preference among records of one order.',
    flags: 'What the result is, such as `u` or `S`.',
    services: 'The services that the result offers.',
    regex: 'The substitution expression.',
    replacement: `The next name to look up, ${TARGET}`,
  },
  HINFO: { cpu: 'The kind of CPU.', os: 'The operating system.' },
  OTHER: {
    data: "The record's data as dig prints it, with lower-case names and nothing split (RFC 1035, section 5; RFC 3597).",
  },
};
