import { getEventListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { DnsAnswer } from '../../../src/observer/verdict.js';
import {
  type Behaviour,
  changed,
  rcode,
  silence,
  type TestReply,
  truncated,
} from '../../support/dns-behaviours.js';
import type { DnsTestServer } from '../../support/dns-server.js';
import { clientForTest, failureOf, outcome, outcomeOf, serverForTest } from './asking.js';

/** Long enough for an answer on a busy machine. */
const SHORT = 250;
/** How many silent names are queried at once. */
const DEAD = 15;
/** A question that waited for this would outlive the test. */
const FOREVER = 1_000_000;
const NAME = 'example.test';
const SERVFAIL = rcode(2);
const TYPES = ['A', 'AAAA', 'NS', 'SOA', 'TXT', 'CNAME', 'MX', 'CAA'];

const zoneWith = (ip: string) => `
$ORIGIN example.test.
@ SOA ns hostmaster 1 7200 900 1209600 300
@ A ${ip}
`;
const found = (ip: string) => [{ host: NAME, ip }];

/** SERVFAIL at first unless another reply is given, and then what the zone says. */
function failsOnce(first?: TestReply): Behaviour {
  let isFirst = true;
  return (question) => {
    const reply = isFirst ? (first ?? SERVFAIL(question)) : { messages: [question.answer()] };
    isFirst = false;
    return reply;
  };
}

/** Two servers that tell different addresses, so that one sees who has answered. */
async function twoServers(firstBehaviour?: Behaviour, secondBehaviour?: Behaviour) {
  const first = await serverForTest({ zone: zoneWith('192.0.2.1') });
  const second = await serverForTest({ zone: zoneWith('192.0.2.2'), address: '127.0.0.2' });
  first.behave('*', firstBehaviour);
  second.behave('*', secondBehaviour);
  return [first, second] as const;
}

describe('several servers', () => {
  const zone: Behaviour = ({ answer }) => ({ messages: [answer()] });
  const malformed: Behaviour = ({ answer }) => ({ messages: [answer().subarray(0, -12)] });
  const refers: Behaviour = ({ query }) => ({ messages: [referral(query.question, query.id)] });
  const [FIRST, SECOND] = [found('192.0.2.1'), found('192.0.2.2')];

  test.each<[string, Behaviour, Behaviour, number, unknown, readonly number[]]>([
    ['the first is queried, and no other while it responds', zone, zone, 3, FIRST, [1, 0]],
    ['one that loses a query has it again, though it was silent', failsOnce({}), zone, 2, FIRST, [2, 0]],
    ['they are queried in turn, each twice', SERVFAIL, rcode(5), 5, 'servfail', [3, 2]],
    ['the failure that is reported is the last one', SERVFAIL, rcode(5), 3, 'refused', [2, 1]],
    ['the failure is what one said, if the last was silent', SERVFAIL, silence, 3, 'servfail', [2, 1]],
    ['after SERVFAIL, and another try, the second is queried', SERVFAIL, zone, 3, SECOND, [2, 1]],
    ['after REFUSED the second is queried', rcode(5), zone, 3, SECOND, [2, 1]],
    ['after silence the second is queried', silence, zone, 3, SECOND, [2, 1]],
    ['after a malformed answer the second is queried', malformed, zone, 3, SECOND, [2, 1]],
    ['after a referral the second is queried', refers, zone, 3, SECOND, [2, 1]],
    // Each over UDP and over TCP.
    ['after stalled TCP the second is queried', truncated(silence), zone, 3, SECOND, [4, 1]],
  ])('%s', async (_what, one, other, tries, expected, questions) => {
    const [first, second] = await twoServers(one, other);
    const answer = await outcome(clientForTest([first, second], { tries, timeout: SHORT }), NAME, 'A');
    expect(answer).toEqual(typeof expected === 'string' ? { failed: expected } : expected);
    expect([first.questions, second.questions]).toEqual(questions);
  });

  test('all types are queried where the first answer came from', async () => {
    const [first, second] = await twoServers();
    for (const type of ['A', 'CNAME']) first.behave('*', SERVFAIL, type);
    const answers = await clientForTest([first, second], { tries: 3 }).query(NAME, TYPES);
    expect(outcomeOf(answers.get('A'))).toEqual(found('192.0.2.2'));
    expect([first.questions, second.questions]).toEqual([2, 8]);
  });

  test('after a closed port the second is queried', async () => {
    const [first, second] = await twoServers();
    await first.close();
    const client = clientForTest([first, second], { tries: 3 });
    expect(await outcome(client, NAME, 'A')).toEqual(found('192.0.2.2'));
  });

  test('NXDOMAIN and NODATA are answers: the second is not queried', async () => {
    const [first, second] = await twoServers();
    const client = clientForTest([first, second], { tries: 3 });
    expect(await outcome(client, `no.${NAME}`, 'A')).toBe('NXDOMAIN');
    expect(await outcome(client, NAME, 'AAAA')).toEqual([]);
    expect(second.questions).toBe(0);
  });

  test('one that was silent comes last for half a minute, and is first again once it answers', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const [first, second] = await twoServers(silence);
    const client = clientForTest([first, second], { tries: 3, timeout: SHORT });
    await client.query(NAME, TYPES);
    expect([first.questions, second.questions]).toEqual([2, 8]);
    first.behave('*', undefined);
    expect(await outcome(client, NAME, 'A')).toEqual(found('192.0.2.2'));
    vi.advanceTimersByTime(30_000);
    for (let at = 0; at < 2; at += 1) expect(await outcome(client, NAME, 'A')).toEqual(found('192.0.2.1'));
    expect([first.questions, second.questions]).toEqual([4, 9]);
  });

  test('if the others fail, it is queried nevertheless, and is first again once it responds', async () => {
    const [first, second] = await twoServers(silence);
    const client = clientForTest([first, second], { tries: 3, timeout: SHORT });
    await client.query(NAME, ['A']);
    first.behave('*', undefined);
    second.behave('*', SERVFAIL);
    expect(await outcome(client, NAME, 'A')).toEqual(found('192.0.2.1'));
    second.forgetQuestions();
    expect(await outcome(client, NAME, 'A')).toEqual(found('192.0.2.1'));
    expect(second.questions).toBe(0);
  });

  test('queries that wait for a server that stops responding go to another', async () => {
    const [first, second] = await twoServers(silence);
    const client = clientForTest([first, second], { tries: 3, timeout: SHORT, queriesPerServer: 1 });
    const answers = await client.query(NAME, TYPES);
    expect([...answers.values()].map(({ kind }) => kind)).toEqual(TYPES.map(() => 'answered'));
    expect([first.questions, second.questions]).toEqual([2, 8]);
  });

  test('a server may have an IPv6 address', async () => {
    const server = await serverForTest({ zone: zoneWith('192.0.2.6'), address: '::1' });
    const client = clientForTest([server]);
    expect(await outcome(client, NAME, 'A')).toEqual(found('192.0.2.6'));
    server.behave('*', SERVFAIL);
    expect(await failureOf(client, NAME, 'A')).toBe(`SERVFAIL from [::1]:${server.port}`);
  });
});

const failedIn = (answers: ReadonlyMap<string, DnsAnswer>) =>
  [...answers].filter(([, { kind }]) => kind === 'failed').map(([type]) => type);

describe('a name that no server resolves', () => {
  test.each<[string, Behaviour, string]>([
    ['silence', silence, 'timeout'],
    ['SERVFAIL', SERVFAIL, 'servfail'],
  ])('is given up after as many questions as one has tries: %s', async (_name, behaviour, code) => {
    const server = await serverForTest();
    server.behave('*', behaviour);
    const client = clientForTest([server], { tries: 3, timeout: SHORT });
    const answers = await client.query(NAME, TYPES);
    expect([...answers.values()].map(outcomeOf)).toEqual(TYPES.map(() => ({ failed: code })));
    expect(server.questions).toBe(3);
  });

  test.each([
    [1, 3],
    [2, 2],
  ])('is so by two questions at least: with %i tries one answer is enough', async (tries, silentTypes) => {
    const server = await serverForTest({ zone: zoneWith('192.0.2.1') });
    const silent = ['A', 'AAAA', 'MX'].slice(0, silentTypes);
    for (const type of silent) server.behave('*', silence, type);
    const client = clientForTest([server], { tries, timeout: SHORT });
    const answers = await client.query(NAME, TYPES);
    expect(failedIn(answers)).toEqual(silent);
  });

  test('is not one whose addresses alone fail, even if the query for a CNAME is lost once', async () => {
    const server = await serverForTest({ zone: zoneWith('192.0.2.1') });
    for (const type of ['A', 'AAAA']) server.behave('*', SERVFAIL, type);
    server.behave('*', failsOnce({}), 'CNAME');
    const answers = await clientForTest([server], { tries: 3, timeout: SHORT }).query(NAME, TYPES);
    expect(failedIn(answers)).toEqual(['A', 'AAAA']);
  });

  test.each<[string, Behaviour, number]>([
    ['SERVFAIL', SERVFAIL, 3],
    ['REFUSED', rcode(5), 3],
    // Once over UDP and once over TCP.
    ['truncation over TCP too', changed((message) => message.fill(0x82, 2, 3)), 2],
  ])('has no more questions of a type than that has tries: %s', async (_name, behaviour, questions) => {
    const server = await serverForTest({ zone: zoneWith('192.0.2.1') });
    server.behave('*', behaviour, 'A');
    await clientForTest([server], { tries: 3, timeout: SHORT }).query(NAME, TYPES);
    expect(server.asked(NAME, 'A')).toBe(questions);
  });

  test('is queried at each server', async () => {
    const [first, second] = await twoServers(SERVFAIL);
    const client = clientForTest([first, second], { tries: 1 });
    const answers = await client.query(NAME, TYPES);
    expect(outcomeOf(answers.get('MX'))).toEqual([]);
    expect([first.questions, second.questions]).toEqual([2, 6]);
  });

  test('does not put a server last that answers others', async () => {
    const [first, second] = await twoServers();
    for (let at = 0; at < DEAD; at += 1) first.behave(`d${at}.${NAME}`, silence);
    const client = clientForTest([first, second], { tries: 1, timeout: 2 * SHORT });
    const all = Array.from({ length: DEAD }, (_, at) =>
      client.query(`d${at}.${NAME}`, TYPES, undefined, 'low'),
    );
    let isOver = false;
    void Promise.all(all).then(() => (isOver = true));
    while (!isOver) {
      expect(await outcome(client, NAME, 'A')).toEqual(found('192.0.2.1'));
      await pause(10);
    }
    expect(second.asked(NAME)).toBe(0);
  });
});

describe('the limit of queries at once', () => {
  test('silent names of low priority do not keep a name of normal priority from being queried', async () => {
    const server = await serverForTest({ zone: zoneWith('192.0.2.1') });
    for (let at = 0; at < 20; at += 1) server.behave(`d${at}.${NAME}`, silence);
    const client = clientForTest([server], { timeout: FOREVER, queriesPerServer: 8 });
    for (let at = 0; at < 20; at += 1) void client.query(`d${at}.${NAME}`, TYPES, undefined, 'low');
    const answers = await client.query(NAME, TYPES);
    expect(outcomeOf(answers.get('A'))).toEqual(found('192.0.2.1'));
    expect(server.questions).toBe(6 + TYPES.length);
  });

  test('a server has no more in flight, over all domains, and gets them in the order in which they came', async () => {
    const server = await serverForTest();
    const underWay: (() => void)[] = [];
    const arrived: string[] = [];
    server.generate(() => []);
    server.behave('*', ({ name, answer }) => {
      arrived.push(name);
      return new Promise((resolve) => underWay.push(() => resolve({ messages: [answer()] })));
    });
    const client = clientForTest([server], { queriesPerServer: 3 });
    const names = Array.from({ length: 10 }, (_, at) => `d${at}.test`);
    const asked = names.map((name) => client.query(name, ['A']));
    for (const [at, name] of names.entries()) {
      await vi.waitFor(() => expect(arrived).toContain(name), { timeout: 60_000 });
      expect(underWay.length).toBeLessThanOrEqual(at + 3);
      if (at >= 2) underWay[at - 2]?.();
    }
    for (const finish of underWay) finish();
    await Promise.all(asked);
    expect(arrived).toHaveLength(10);
    // Three at a time may overtake each other on the way, but no later one passes the limit before them.
    const places = arrived.map((name) => names.indexOf(name));
    expect(places.every((place, at) => Math.abs(place - at) < 3)).toBe(true);
  });
});

describe('stopping', () => {
  let server: DnsTestServer;
  let stop: AbortController;
  const stopping: Behaviour = () => {
    stop.abort();
    return {};
  };

  beforeEach(async () => {
    server = await serverForTest({ zone: zoneWith('192.0.2.1') });
    stop = new AbortController();
  });

  test('an abort settles what is not answered as stopped, and keeps what is', async () => {
    server.behave('*', stopping, 'MX');
    const client = clientForTest([server], { queriesPerServer: 1 });
    const answers = await client.query(NAME, ['A', 'MX', 'NS'], stop.signal);
    const stopped = { failed: 'stopped' };
    expect([...answers.values()].map(outcomeOf)).toEqual([found('192.0.2.1'), stopped, stopped]);
    expect(server.asked(NAME, 'NS')).toBe(0);
  });

  test('an abort ends what waits for TCP', async () => {
    server.behave('*', truncated(stopping));
    const client = clientForTest([server], { timeout: FOREVER });
    const answers = await client.query(NAME, ['A'], stop.signal);
    expect(outcomeOf(answers.get('A'))).toEqual({ failed: 'stopped' });
    await vi.waitFor(() => expect(server.connections).toBe(0), { timeout: 60_000 });
  });

  test('an abort stops every query in flight, and later queries with the signal', async () => {
    const client = clientForTest([server], { tries: 3, queriesPerServer: 1 });
    server.behave('*', stopping);
    const answers = await client.query(NAME, TYPES, stop.signal);
    expect([...answers.values()].map(outcomeOf)).toEqual(TYPES.map(() => ({ failed: 'stopped' })));
    expect(outcomeOf((await client.query(NAME, ['A'], stop.signal)).get('A'))).toEqual({ failed: 'stopped' });
    expect(server.questions).toBe(1);
  });

  test('nothing is left behind: no socket, and no listener on a signal that many queries share', async () => {
    const stalled = await serverForTest({ zone: zoneWith('192.0.2.2') });
    stalled.behave('*', truncated(silence));
    // The two servers' own, and what other tests have not closed yet.
    const before = openSockets();
    const client = clientForTest([stalled, server], { tries: 2, timeout: SHORT });
    const look = () => client.query(NAME, ['A', 'MX'], stop.signal);
    const answers = await Promise.all(Array.from({ length: 5 }, look));
    const all = answers.map((answer) => outcomeOf(answer.get('A')));
    expect(all).toEqual(all.map(() => found('192.0.2.1')));
    await expect.poll(() => openSockets() - before, { timeout: 60_000 }).toBeLessThanOrEqual(0);
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
  });
});

/** How many sockets keep the process alive, besides those that listen for connections. */
function openSockets(): number {
  return process.getActiveResourcesInfo().filter((kind) => ['UDPWrap', 'TCPSocketWrap'].includes(kind))
    .length;
}

/** A response of a server that does not know, and names the servers of the root's. */
function referral(question: Buffer, id: number): Buffer {
  const header = Buffer.from([id >> 8, id & 0xff, 0x80, 0, 0, 1, 0, 0, 0, 1, 0, 0]);
  return Buffer.concat([header, question, Buffer.from([0, 0, 2, 0, 1, 0, 0, 0, 60, 0, 3, 1, 0x61, 0])]);
}
