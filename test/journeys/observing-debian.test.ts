import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDnsClient, type DnsClient } from '../../src/observer/dns/client.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { type DebianServers, HAS_DEBIAN_SERVERS, startDebianServers } from '../support/debian-servers.js';
import { startTestService, type TestService } from '../support/service.js';
import { REJECTING_PORT, type ServedResponse } from '../support/web-server.js';
import { runDms } from './dms-command.js';
import { FURTHER_TYPES, HEADERS, RECORDS, STAGES, storyOf, zoneAt } from './observed-stages.js';

/** A zone's DS records are at its parent: a resolver does not query the zone for them. */
const TYPES = FURTHER_TYPES.replace('DS, ', '');
const TOLD_RECORDS = RECORDS.filter(({ data: { type } }) => type !== 'DS');

/** Each stage is marked, to see when the servers have taken it. */
const MARK = 'x-stage';

function markedZone(stage: number): string {
  return `$TTL 60\n${zoneAt(stage).replace(/^@ DS .*\n/m, '')}mark TXT "${stage}"\nns1 A 127.0.0.1\n`;
}

function siteAt(stage: number): string {
  const { status = 200, fields = [] }: ServedResponse = STAGES[stage]?.site ?? {};
  const own = fields.filter(([name]) => name !== 'Date');
  const directives = own.map(([name, value]) => `add_header ${name} "${value}" always;`);
  return [...directives, `add_header ${MARK} ${stage} always;`, `return ${status} "ok";`].join(' ');
}

describe.skipIf(!HAS_DEBIAN_SERVERS)('against nsd, unbound and nginx', () => {
  let servers: DebianServers;
  let database: TestDatabase;
  let service: TestService;
  let dns: DnsClient;

  beforeAll(async () => {
    servers = await startDebianServers(markedZone(0), siteAt(0));
    database = await openTestDatabase();
    service = await startTestService({ database });
    dns = createDnsClient({
      servers: [{ address: '127.0.0.1', port: servers.resolverPort }],
      timeout: 2000,
      tries: 1,
      queriesPerServer: 10,
    });
  });

  afterAll(async () => {
    await service.stop();
    await database.close();
    await servers.close();
  });

  /** Settles when both servers give a stage. */
  async function showing(stage: number): Promise<void> {
    await expect.poll(() => markOfZone(), { timeout: 60_000, interval: 100 }).toBe(stage);
    await expect.poll(() => marksOfSite(), { timeout: 60_000, interval: 100 }).toEqual(new Set([stage]));
  }

  async function markOfZone(): Promise<number> {
    const answer = (await dns.query('mark.example.test', ['TXT'])).get('TXT');
    return answer?.kind === 'answered'
      ? Number(/"txt":"(\d)"/.exec(answer.records[0]?.rdata ?? '')?.[1])
      : -1;
  }

  /** Of many connections: the workers of nginx that have the old configuration accept some for a while. */
  async function marksOfSite(): Promise<Set<number>> {
    const marks = new Set<number>();
    for (let time = 0; time < 30; time += 1) {
      const response = await fetch(`http://127.0.0.1:${servers.sitePort}/`, {
        headers: { connection: 'close' },
      }).catch(() => undefined);
      marks.add(Number(response?.headers.get(MARK) ?? -1));
    }
    return marks;
  }

  test('zone and site that change three times are told exactly, with every type of record', async () => {
    const environment = {
      ...database.environment,
      DNS_SERVERS: `127.0.0.1:${servers.resolverPort}`,
      OBSERVE_DNS_TYPES: TYPES,
      OBSERVE_PRIVATE: 'allow',
      OBSERVE_HTTPS_PORT: String(REJECTING_PORT),
      OBSERVE_HTTP_PORT: String(servers.sitePort),
    };
    for (const stage of STAGES.keys()) {
      servers.setZone(markedZone(stage));
      servers.setSite(siteAt(stage));
      await showing(stage);
      const { code, stderr } = await runDms(['observe', 'example.test'], environment);
      expect([code, stderr]).toEqual([0, '']);
    }
    const told = await storyOf(`${service.url}/api/v1/domain/example.test`);
    expect(told).toMatchObject({
      domain: 'example.test',
      created: 0,
      lastUpdate: 3,
      dnsRecords: TOLD_RECORDS,
    });
    // nginx adds fields of its own.
    expect(told).toMatchObject({ httpHeaders: expect.arrayContaining(HEADERS) });
  });

  test('a name that does not exist, and a type that a name does not have, are answers', async () => {
    const missing = await dns.query('missing.example.test', ['A']);
    expect(missing.get('A')).toMatchObject({ kind: 'answered', nameExists: false, records: [] });
    const without = await dns.query('www.example.test', ['MX']);
    expect(without.get('MX')).toMatchObject({ kind: 'answered', nameExists: true, records: [] });
  });
});
