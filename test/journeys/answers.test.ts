import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseDmsLine } from '../../src/importers/dms.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { NOW, type ObservationParts, observationLine, timeText } from '../support/observations.js';
import { startTestService, type TestService } from '../support/service.js';

let service: TestService;

beforeAll(async () => {
  service = await startTestService();
});

afterAll(async () => {
  await service.stop();
});

/** Records observations as an import does. */
async function record(...parts: ObservationParts[]): Promise<void> {
  const recorder = createRecorder(service.database.pool);
  await recorder.record(parts.map((part) => parseDmsLine(observationLine(part), NOW)));
}

interface Entry {
  readonly firstSeen: string;
  readonly removed: string | null;
}

interface RestDomain {
  readonly domain: string;
  readonly dnsRecords: readonly (Entry & { readonly data: Readonly<Record<string, unknown>> })[];
  readonly httpHeaders: readonly {
    readonly name: string;
    readonly value: string;
    readonly history: readonly { readonly date: string }[];
  }[];
}

interface GraphqlDomain {
  readonly unicodeName: string;
  readonly lastChange: string;
  readonly dnsRecords: readonly (Entry & Readonly<Record<string, unknown>>)[];
  readonly httpHeaders: RestDomain['httpHeaders'];
}

/** What both APIs return: REST's body, and GraphQL's fields by the same names. */
async function ask(name: string): Promise<{ rest: RestDomain; graphql: GraphqlDomain }> {
  const rest = await fetch(`${service.url}/api/v1/domain/${encodeURIComponent(name)}`);
  const query = `query ($name: String!) { domain(name: $name) {
    name unicodeName created lastUpdate lastChange
    dnsRecords { ... on DnsRecordEntry { host type firstSeen removed }
      ... on SoaRecord { serial } ... on TxtRecord { txt entries } ... on ARecord { ip } }
    httpHeaders { name value history { event date new old } } } }`;
  const graphql = await fetch(`${service.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables: { name } }),
  });
  const answer = JSON.parse(await graphql.text());
  expect(answer.errors).toBeUndefined();
  return { rest: JSON.parse(await rest.text()), graphql: answer.data.domain };
}

describe('what was recorded comes back exactly, by REST and by GraphQL', () => {
  test('a SOA serial of 4294967295', async () => {
    const soa = { mname: 'ns.soa.example', rname: 'host.soa.example', refresh: 1, retry: 2, expire: 3 };
    const data = {
      host: 'soa.example',
      class: 'IN',
      type: 'SOA',
      ...soa,
      serial: 4294967295,
      'minimum-ttl': 4,
    };
    await record({ domain: 'soa.example', at: 1, records: [data] });
    const { rest, graphql } = await ask('soa.example');
    expect(rest.dnsRecords[0]?.data['serial']).toBe(4294967295);
    expect(graphql.dnsRecords[0]?.['serial']).toBe(4294967295);
  });

  test('a TXT of 4,000 bytes in segments, with quotes, characters beyond ASCII and NUL bytes', async () => {
    const entries = Array.from({ length: 16 }, (_, index) => `"${index}" ü \\000 \\255 `.padEnd(246, 'x'));
    const data = { host: 'txt.example', class: 'IN', type: 'TXT', txt: entries.join(''), entries };
    await record({ domain: 'txt.example', at: 1, records: [data] });
    const { rest, graphql } = await ask('txt.example');
    expect(rest.dnsRecords[0]?.data).toEqual(data);
    expect(graphql.dnsRecords[0]).toMatchObject({ txt: entries.join(''), entries });
  });

  test('1,000 records and 300 headers on one domain, one value of 16 kB', async () => {
    const addresses = Array.from({ length: 1000 }, (_, index) => `10.1.${index >> 8}.${index & 255}`);
    const names = Array.from({ length: 300 }, (_, index) => `x-${String(index).padStart(3, '0')}`);
    const long = 'v'.repeat(16_384);
    const headers = Object.fromEntries(names.map((name) => [name, name === 'x-007' ? long : name]));
    await record({ domain: 'large.example', at: 1, records: addresses, headers });
    const { rest, graphql } = await ask('large.example');
    expect(rest.dnsRecords.map(({ data }) => data['ip'])).toEqual([...addresses].sort());
    expect(graphql.dnsRecords).toHaveLength(1000);
    expect(rest.httpHeaders.map(({ name }) => name)).toEqual(names);
    expect(rest.httpHeaders[7]?.value).toBe(long);
    expect(graphql.httpHeaders).toEqual(rest.httpHeaders);
  });

  test('an internationalised name, requested in Unicode, as A-labels, in upper case and with a final dot', async () => {
    await record({ domain: 'bücher.example', at: 1, records: ['192.0.2.1'] });
    const expected = await ask('xn--bcher-kva.example');
    expect(expected.rest.domain).toBe('xn--bcher-kva.example');
    expect(expected.graphql.unicodeName).toBe('bücher.example');
    for (const name of ['bücher.example', 'BÜCHER.Example.', 'XN--BCHER-KVA.EXAMPLE']) {
      expect(await ask(name)).toEqual(expected);
    }
  });

  test('times whose microseconds end in zeros', async () => {
    await record({ domain: 'times.example', at: 1.5, records: ['192.0.2.1'], headers: { server: 'a' } });
    const { rest, graphql } = await ask('times.example');
    const time = '2024-01-01T00:00:01.500000Z';
    expect(rest).toMatchObject({ created: time, lastUpdate: time });
    expect(rest.dnsRecords[0]?.firstSeen).toBe(time);
    expect(rest.httpHeaders[0]?.history[0]?.date).toBe(time);
    expect(graphql).toMatchObject({ created: time, lastChange: time });
  });

  test('a record that was removed and is seen again: two entries', async () => {
    await record(
      { domain: 'again.example', at: 1, records: ['192.0.2.1'] },
      { domain: 'again.example', at: 2, records: [] },
      { domain: 'again.example', at: 3, records: ['192.0.2.1'] },
    );
    const { rest, graphql } = await ask('again.example');
    const times = (entry: Entry) => [entry.firstSeen, entry.removed];
    const expected = [
      [stamp(1), stamp(2)],
      [stamp(3), null],
    ];
    expect(rest.dnsRecords.map(times)).toEqual(expected);
    expect(graphql.dnsRecords.map(times)).toEqual(expected);
  });

  test('a header that goes and comes back: nothing is added, nothing is lost', async () => {
    await record(
      { domain: 'header.example', at: 1, headers: { server: 'a' } },
      { domain: 'header.example', at: 2, headers: {} },
      { domain: 'header.example', at: 3, headers: { server: 'a' } },
      { domain: 'header.example', at: 4, headers: { server: 'b' } },
    );
    const { rest, graphql } = await ask('header.example');
    expect(rest.httpHeaders).toEqual([
      {
        name: 'server',
        value: 'b',
        history: [
          { event: 'created', date: stamp(1), new: 'a', old: null },
          { event: 'updated', date: stamp(4), new: 'b', old: 'a' },
        ],
      },
    ]);
    expect(graphql.httpHeaders).toEqual(rest.httpHeaders);
    expect(graphql.lastChange).toBe(stamp(4));
  });
});

/** A time of an observation as the API writes it. */
function stamp(at: number): string {
  return timeText(at).replace('.000Z', '.000000Z');
}
