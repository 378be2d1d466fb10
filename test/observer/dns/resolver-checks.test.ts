import { expect, onTestFinished, test, vi } from 'vitest';
import { readSettings } from '../../../src/config/env.js';
import { ResolverChecks, type ResolverState } from '../../../src/observer/dns/resolver-checks.js';
import { createResolverChecks } from '../../../src/observing.js';
import { rcode } from '../../support/dns-behaviours.js';
import { encodeResponse, FLAGS } from '../../support/dns-message.js';
import type { DnsTestServer } from '../../support/dns-server.js';
import { type Client, clientForTest, outcome, outcomeOf, serverForTest } from './asking.js';

const HOUR = 3_600_000;
const TYPES = ['A', 'AAAA', 'MX', 'SOA'];
const NOW = 1_700_000_000_000_000n;
const INVENTED = '192.0.2.66';
const ZONE = `
$ORIGIN example.test.
@ SOA ns hostmaster 1 7200 900 1209600 300
@ A 192.0.2.1
parked A ${INVENTED}
both A ${INVENTED}
both A 192.0.2.1
`;

/** Of the type, among addresses. */
const ofType = (addresses: readonly string[], type: string) =>
  addresses.filter((text) => ['A', 'AAAA'].includes(type) && text.includes(':') === (type === 'AAAA'));

/** The server gives addresses for whatever does not exist. */
function inventing(server: DnsTestServer, ...addresses: readonly string[]): void {
  server.invent((_name, type) => ofType(addresses, type));
}

function observing(...servers: readonly DnsTestServer[]) {
  const reported: ResolverState[] = [];
  const report = (state: ResolverState) => reported.push(state);
  const checks = new ResolverChecks({ servers, timeout: 10_000, now: () => NOW, report });
  return { checks, client: clientForTest(servers, { tries: 3, checks }), reported };
}

async function outcomes(client: Client, name: string): Promise<unknown> {
  const answers = await client.query(name, TYPES);
  return Object.fromEntries([...answers].map(([type, answer]) => [type, outcomeOf(answer)]));
}

const text = ({ address, port }: DnsTestServer) => `${address}:${port}`;
const FAILED = { failed: 'invented' };
const ALL_FAILED = { A: FAILED, AAAA: FAILED, MX: FAILED, SOA: FAILED };

test('the addresses that a resolver gives for names that do not exist are no answer, nor are its others', async () => {
  const server = await serverForTest({ zone: ZONE });
  inventing(server, INVENTED);
  const { checks, client, reported } = observing(server);
  expect(await outcomes(client, 'parked.example.test')).toEqual(ALL_FAILED);
  expect(await outcomes(client, 'example.test')).toMatchObject({
    A: [{ host: 'example.test', ip: '192.0.2.1' }],
    MX: [],
  });
  // Only the whole set counts.
  expect(await outcomes(client, 'both.example.test')).toMatchObject({ A: [{}, {}], MX: [] });
  const state = { server: text(server), checkedAt: NOW, invented: [INVENTED] };
  expect(checks.states).toEqual([state]);
  expect(reported).toEqual([state]);
});

test('the answers for other types, which came at the same time, are none either', async () => {
  const server = await serverForTest({ zone: ZONE });
  inventing(server, '2001:db8::66');
  server.generate((_name, type) =>
    type === 'AAAA' ? ['2001:db8::66'] : ['A', 'MX'].includes(type) ? [] : null,
  );
  const { client } = observing(server);
  expect(await outcomes(client, 'example.test')).toEqual(ALL_FAILED);
});

test.each([['0.0.0.0'], ['127.0.0.1'], ['192.0.2.66', '192.0.2.67'], ['::'], ['192.0.2.66', '2001:db8::66']])(
  'names that do not exist may have %s %s',
  async (...addresses) => {
    const server = await serverForTest();
    inventing(server, ...addresses);
    const { checks, client } = observing(server);
    server.generate((_name, type) => ofType(addresses, type));
    expect(await outcomes(client, 'any.test')).toMatchObject({ MX: FAILED });
    expect(checks.states[0]?.invented).toEqual([...addresses].sort());
  },
);

test('another resolver that invents nothing answers for the whole name', async () => {
  const [first, second] = [await serverForTest({ zone: ZONE }), await serverForTest({ zone: ZONE })];
  inventing(first, INVENTED);
  const { client, checks } = observing(first, second);
  expect(await outcomes(client, 'parked.example.test')).toMatchObject({
    A: [{ host: 'parked.example.test', ip: INVENTED }],
    MX: [],
  });
  expect([first.questions, second.questions]).toEqual([1, 4]);
  expect(checks.states.map(({ invented }) => invented)).toEqual([[INVENTED], []]);
});

test('a denial without proof is not confirmed where the other resolver invents addresses', async () => {
  const [first, second] = [await serverForTest(), await serverForTest()];
  first.behave('*', ({ query }) => ({
    messages: [encodeResponse(query, { rcode: 0, flags: FLAGS.RA, answers: [], authorities: [] })],
  }));
  inventing(second, INVENTED);
  second.generate((_name, type) => (type === 'A' ? [INVENTED] : []));
  const { client } = observing(first, second);
  expect(await outcome(client, 'gone.test', 'A')).toEqual({ failed: 'unproven' });
});

test('it is checked again after an hour, and what has changed is reported', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  vi.advanceTimersByTime(1);
  const server = await serverForTest({ zone: ZONE });
  const { checks, client, reported } = observing(server);
  expect(await outcomes(client, 'parked.example.test')).toMatchObject({ A: [{ ip: INVENTED }] });
  inventing(server, INVENTED);
  vi.advanceTimersByTime(HOUR - 1);
  await checks.checkAll();
  expect(reported).toEqual([]);
  vi.advanceTimersByTime(2);
  await client.query('example.test', ['A']);
  await expect.poll(() => reported.length).toBe(1);
  expect(await outcomes(client, 'parked.example.test')).toMatchObject({ A: FAILED });
  server.invent(undefined);
  vi.advanceTimersByTime(HOUR + 1);
  await checks.checkAll();
  await expect.poll(() => reported.map(({ invented }) => invented)).toEqual([[INVENTED], []]);
  expect(await outcomes(client, 'parked.example.test')).toMatchObject({ A: [{ ip: INVENTED }] });
});

test('it is not known of a resolver that is away, and all are checked at once where it is asked for', async () => {
  const [away, liar] = [await serverForTest(), await serverForTest()];
  await away.close();
  inventing(liar, INVENTED);
  const { checks } = observing(away, liar);
  expect(checks.states.map(({ checkedAt }) => checkedAt)).toEqual([null, null]);
  expect(await checks.checkAll()).toEqual([
    { server: text(away), checkedAt: null, invented: [] },
    { server: text(liar), checkedAt: NOW, invented: [INVENTED] },
  ]);
});

test('a resolver that gives no address is not asked for other names', async () => {
  const server = await serverForTest({ zone: ZONE });
  server.behave('failing.example.test', rcode(2));
  const { checks, client } = observing(server);
  await client.query('failing.example.test', TYPES);
  expect(checks.states).toEqual([{ server: text(server), checkedAt: null, invented: [] }]);
});

test('a resolver that DNS_SERVERS names twice is one', () => {
  const settings = readSettings({ DNS_SERVERS: '127.0.0.1, 127.0.0.1:53, [::1]:53' });
  const { states } = createResolverChecks(settings, () => NOW);
  expect(states.map(({ server }) => server)).toEqual(['127.0.0.1:53', '[::1]:53']);
});
