import type { RecordedState } from '../validators.js';

/**
 * What the stored operations give for a domain. Each selects a part of it, in the order in which REST
 * shows it; schema.graphql holds what the fields are.
 */
export interface DomainResult extends RecordedState {
  readonly domain: string;
  readonly created: string;
  readonly lastUpdate: string;
  readonly dnsRecords: readonly DnsRecordResult[];
  readonly httpHeaders: readonly object[];
}

/** An entry of a DNS record: which of the fields after `removed` it has, its type decides. */
export interface DnsRecordResult {
  readonly host: string;
  readonly class: string;
  readonly type: string;
  readonly firstSeen: string;
  readonly removed: string | null;
  readonly ip?: string;
  readonly ipv6?: string;
  readonly target?: string;
  readonly mname?: string;
  readonly rname?: string;
  readonly serial?: number;
  readonly refresh?: number;
  readonly retry?: number;
  readonly expire?: number;
  readonly minimumTtl?: number;
  readonly txt?: string;
  readonly entries?: readonly string[];
  readonly pri?: number;
  readonly weight?: number;
  readonly port?: number;
  readonly flags?: number;
  readonly tag?: string;
  readonly value?: string;
  readonly order?: number;
  readonly pref?: number;
  readonly naptrFlags?: string;
  readonly services?: string;
  readonly regex?: string;
  readonly replacement?: string;
  readonly cpu?: string;
  readonly os?: string;
  readonly data?: string;
}
