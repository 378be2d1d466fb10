import { onTestFinished } from 'vitest';
import { dnsRecordData } from '../../../src/model/dns-record.js';
import { createDnsClient, type DnsClientOptions } from '../../../src/observer/dns/client.js';
import type { DnsServer } from '../../../src/observer/dns/name-server.js';
import type { Priority } from '../../../src/observer/limiter.js';
import type { DnsAnswer } from '../../../src/observer/verdict.js';
import { type DnsTestServer, type DnsTestServerOptions, startDnsServer } from '../../support/dns-server.js';

/** A DNS server that ends with the test. */
export async function serverForTest(options: DnsTestServerOptions = {}): Promise<DnsTestServer> {
  const server = await startDnsServer(options);
  onTestFinished(() => server.close());
  return server;
}

type Options = Partial<Omit<DnsClientOptions, 'servers'>>;

/** A client whose lookups end with the test: one patient try, unless the options say something else. */
export function clientForTest(servers: readonly DnsServer[], options: Options = {}) {
  const client = createDnsClient({ servers, timeout: 10_000, tries: 1, queriesPerServer: 100, ...options });
  const end = new AbortController();
  onTestFinished(() => end.abort());
  return {
    query: (name: string, types: readonly string[], signal = end.signal, priority: Priority = 'normal') =>
      client.query(name, types, signal, priority),
  };
}

export type Client = ReturnType<typeof clientForTest>;

/** What a test compares: the records as an answer of the API shows them, or the failure's code. */
export type Outcome = readonly unknown[] | 'NXDOMAIN' | { readonly failed: string };

export function outcomeOf(answer: DnsAnswer | undefined): Outcome | undefined {
  if (answer === undefined) return undefined;
  if (answer.kind === 'failed') return { failed: answer.failure.code };
  if (!answer.nameExists && answer.records.length === 0) return 'NXDOMAIN';
  return answer.records.map((record) => {
    const { class: _class, type: _type, ...shown } = dnsRecordData(record);
    return shown;
  });
}

export async function outcome(client: Client, name: string, type: string): Promise<Outcome | undefined> {
  return outcomeOf((await client.query(name, [type])).get(type));
}

/** The failure of one question, or undefined where it was answered. */
export async function failureOf(client: Client, name: string, type: string): Promise<string | undefined> {
  const answer = (await client.query(name, [type])).get(type);
  return answer?.kind === 'failed' ? answer.failure.message : undefined;
}
