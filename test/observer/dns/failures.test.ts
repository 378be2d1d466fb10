import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { createQuestion, responseTo } from '../../../src/observer/dns/message.js';
import {
  type Behaviour,
  changed,
  otherName,
  rcode,
  rejectsEdns,
  silence,
  truncated,
  wrongId,
} from '../../support/dns-behaviours.js';
import { encodeResponse, FLAGS } from '../../support/dns-message.js';
import { startDnsServer } from '../../support/dns-server.js';
import { clientForTest, failureOf, outcome, outcomeOf, serverForTest } from './asking.js';

/** Long enough for what comes at once, short enough for what never comes. */
const SHORT = 250;

const ZONE = `
$ORIGIN example.test.
@    SOA ns hostmaster 1 7200 900 1209600 300
@    A   192.0.2.7
sub  NS  ns.sub
`;

const UNPROVEN = { failed: 'unproven' };
const FOUND = [{ host: 'example.test', ip: '192.0.2.7' }];

const server = await startDnsServer({ zone: ZONE });
afterAll(() => server.close());
beforeEach(() => {
  for (const type of ['*', 'A', 'MX', 'NS']) server.behave('*', undefined, type);
  server.generate(undefined);
  server.forgetQuestions();
});

/** What comes of one question whose server behaves so. */
async function tried(behaviour: Behaviour, timeout = 10_000) {
  server.behave('*', behaviour);
  const answer = (await clientForTest([server], { timeout }).query('example.test', ['A'])).get('A');
  const message = answer?.kind === 'failed' ? answer.failure.message.replaceAll(`:${server.port}`, '') : '';
  return { outcome: outcomeOf(answer), message, questions: server.questions };
}

describe('what a server says that is no answer', () => {
  test.each([
    ['SERVFAIL', rcode(2), 'servfail', 'SERVFAIL from 127.0.0.1'],
    ['REFUSED', rcode(5), 'refused', 'REFUSED from 127.0.0.1'],
    ['NOTIMP', rcode(4), 'rcode', 'NOTIMP from 127.0.0.1'],
    ['an RCODE without a name', rcode(14), 'rcode', 'RCODE 14 from 127.0.0.1'],
  ])('%s is a failure', async (_name, behaviour, code, message) => {
    expect(await tried(behaviour)).toMatchObject({ outcome: { failed: code }, message });
  });

  test('an error without the question, as servers send that cannot read a query, is taken', async () => {
    const headerOnly = changed((message) =>
      Buffer.concat([message.subarray(0, 3), Buffer.of(2), Buffer.alloc(8)]),
    );
    expect(await tried(headerOnly)).toMatchObject({ outcome: { failed: 'servfail' } });
  });

  test('a referral is no answer, nor a CNAME to a name for which the server refers to others', async () => {
    server.setZone(`${ZONE}\nwww CNAME www.sub`);
    const client = clientForTest([server]);
    const refers = `127.0.0.1:${server.port} does not resolve: it refers to other servers`;
    expect(await failureOf(client, 'sub.example.test', 'A')).toBe(refers);
    expect(await outcome(client, 'www.example.test', 'A')).toEqual({ failed: 'referral' });
    expect(await outcome(client, 'www.example.test', 'CNAME')).toHaveLength(1);
    server.setZone(ZONE);
  });
});

describe('a denial without proof, of a server that resolves (RFC 2308)', () => {
  const bare =
    (number: number, flags: number = FLAGS.RA): Behaviour =>
    ({ query }) => ({
      messages: [encodeResponse(query, { rcode: number, flags, answers: [], authorities: [] })],
    });
  const zone: Behaviour = ({ answer }) => ({ messages: [answer()] });
  const [nodata, nxdomain, authoritative] = [bare(0), bare(3), bare(0, FLAGS.AA)];

  test.each<[string, readonly Behaviour[], number, unknown, readonly number[]]>([
    ['counts where another server says the same', [nodata, nodata], 1, [], [1, 1]],
    ['counts where another says NXDOMAIN, too', [nxdomain, nxdomain], 1, 'NXDOMAIN', [1, 1]],
    ['does not count where only one server says so', [nodata], 1, UNPROVEN, [1]],
    ['does not count where one server says so, however often', [nodata], 3, UNPROVEN, [3]],
    ['does not count where the second says something else', [nodata, nxdomain], 1, UNPROVEN, [1, 1]],
    [
      'does not count where two contradict each other, whatever a third says',
      [nxdomain, nodata, nxdomain],
      3,
      UNPROVEN,
      [1, 1, 0],
    ],
    ['does not count where the second fails', [nxdomain, rcode(2)], 1, { failed: 'servfail' }, [1, 1]],
    ['does not count where the second says nothing', [nxdomain, silence], 1, UNPROVEN, [1, 1]],
    ['is confirmed by no server but another', [nxdomain, rcode(2)], 4, { failed: 'servfail' }, [1, 3]],
    ['gives way to the records that another server has', [nxdomain, zone], 1, FOUND, [1, 1]],
    ['of a server that does not resolve never counts', [authoritative], 1, UNPROVEN, [1]],
  ])('%s', async (_what, behaviours, tries, expected, asked) => {
    const servers = await Promise.all(behaviours.map(() => serverForTest({ zone: ZONE })));
    for (const [at, one] of servers.entries()) one.behave('*', behaviours[at]);
    const client = clientForTest(servers, { timeout: SHORT, tries });
    expect(await outcome(client, 'example.test', 'A')).toEqual(expected);
    expect(servers.map(({ questions }) => questions)).toEqual(asked);
  });

  test('is not confirmed where the server is named twice', async () => {
    server.behave('*', nxdomain);
    const { address, port } = server;
    const client = clientForTest([server, { address, port }], { timeout: SHORT, tries: 3 });
    expect(await outcome(client, 'example.test', 'A')).toEqual(UNPROVEN);
  });
});

describe('servers that do not answer', () => {
  test('silence is a timeout', async () => {
    const message = 'no answer from 127.0.0.1 in time';
    expect(await tried(silence, SHORT)).toMatchObject({ outcome: { failed: 'timeout' }, message });
  });

  test('a closed port is unreachable', async () => {
    const own = await serverForTest();
    const client = clientForTest([own]);
    await own.close();
    const unreachable = `127.0.0.1:${own.port} cannot be reached (ECONNREFUSED)`;
    expect(await failureOf(client, 'example.test', 'A')).toBe(unreachable);
  });
});

describe('messages that answer something else', () => {
  test('they are waited on, and are no response', async () => {
    const message = 'only answers to something else came from 127.0.0.1';
    expect(await tried(wrongId, SHORT)).toMatchObject({ outcome: { failed: 'mismatched' }, message });
  });

  /** Of example.test; its type and class follow. */
  const ASKED = '0001000000000000076578616d706c65047465737400';
  test.each([
    ...['', '00', '1234840000', '12348400000100000000000007', '123484000002000000000000'],
    ...[`12348400${ASKED}001c0001`, `12348400${ASKED}00010003`],
    ...[`12340000${ASKED}00010001`, `1234a800${ASKED}00010001`],
  ])('octets without a whole header of a response and the question are none: %s', (hex) => {
    const question = createQuestion('example.test', 'A');
    const read = (text: string) => responseTo(question, 0x1234, Buffer.from(text, 'hex'));
    expect(read(hex)).toBeUndefined();
    expect(read(`12348400${ASKED}00010001`)).toBeDefined();
  });

  test('the reply that comes after them is taken', async () => {
    const spoofed: Behaviour = async (question) => {
      const forged = await Promise.all([wrongId(question), otherName('example.org')(question)]);
      return { messages: [...forged.flatMap(({ messages }) => messages ?? []), question.answer()] };
    };
    expect(await tried(spoofed)).toMatchObject({ outcome: FOUND });
  });

  test('what is forged for one question, or comes twice, is not held against another', async () => {
    server.behave('*', wrongId, 'A');
    server.behave('*', silence, 'MX');
    server.behave('*', ({ answer }) => ({ messages: [answer(), answer()] }), 'NS');
    const client = clientForTest([server], { timeout: SHORT });
    const answers = await client.query('example.test', ['A', 'MX', 'NS']);
    const expected = [{ failed: 'mismatched' }, { failed: 'timeout' }, []];
    expect([...answers.values()].map(outcomeOf)).toEqual(expected);
  });

  test('a reply that is there is taken, though the program was too busy to read it in time', async () => {
    server.behave('*', ({ answer }) => {
      // The reply is sent within this turn of the event loop; the next ones come too late.
      setImmediate(beBusy);
      return { messages: [answer()] };
    });
    const client = clientForTest([server], { timeout: SHORT });
    expect(await outcome(client, 'example.test', 'A')).toEqual(FOUND);
  });

  test('over TCP, where only the server can write, it is final', async () => {
    expect(await tried(truncated(wrongId))).toMatchObject({ outcome: { failed: 'mismatched' } });
  });

  test('a late reply to the try before is no forgery: the server was silent', async () => {
    const held: (() => void)[] = [];
    // The reply to the first query comes only when the second query has come.
    server.behave('*', ({ answer }) => {
      held.shift()?.();
      return new Promise((resolve) => held.push(() => resolve({ messages: [answer()] })));
    });
    const client = clientForTest([server], { timeout: SHORT, tries: 2 });
    expect(await outcome(client, 'example.test', 'A')).toEqual({ failed: 'timeout' });
    expect(server.questions).toBe(2);
  });
});

describe('answers that do not fit', () => {
  const many = (count: number) => Array.from({ length: count }, (_, at) => `10.1.${at >> 8}.${at & 255}`);

  test('4,000 records come over TCP, all of them', async () => {
    server.generate(() => many(4000));
    const answer = (await clientForTest([server]).query('many.test', ['A'])).get('A');
    const rdata = answer?.kind === 'answered' ? answer.records.map((record) => record.rdata) : [];
    expect(new Set(rdata)).toEqual(new Set(many(4000).map((ip) => JSON.stringify({ ip }))));
    expect(server.questions).toBe(2);
  });

  test('5,000 records do not fit into a message over TCP: no answer, and no second try', async () => {
    server.generate(() => many(5000));
    const client = clientForTest([server], { tries: 3 });
    const message = `the answer of 127.0.0.1:${server.port} does not fit into a message over TCP`;
    expect(await failureOf(client, 'many.test', 'A')).toBe(message);
    expect(server.questions).toBe(2);
  });

  test('an answer of up to 1,232 octets needs no TCP', async () => {
    server.generate(() => many(70));
    expect(await outcome(clientForTest([server]), 'many.test', 'A')).toHaveLength(70);
    expect(server.questions).toBe(1);
  });

  test.each<[string, Behaviour, string]>([
    ['stalls', () => ({}), 'timeout'],
    ['stalls after a part of the message', ({ answer }) => ({ octets: part(answer()) }), 'timeout'],
    ['closes the connection', () => ({ end: true }), 'unreachable'],
    ['closes it in a message', ({ answer }) => ({ octets: part(answer()), end: true }), 'malformed'],
    ['sends an empty message', () => ({ octets: Buffer.of(0, 0) }), 'mismatched'],
    ['sends a record that breaks off', changed((message) => message.subarray(0, -12)), 'malformed'],
    ['answers SERVFAIL', rcode(2), 'servfail'],
  ])('a server that %s over TCP has not answered', async (_name, behaviour, code) => {
    const timeout = code === 'timeout' ? SHORT : undefined;
    expect(await tried(truncated(behaviour), timeout)).toMatchObject({ outcome: { failed: code } });
  });

  test('a message in many pieces is put together', async () => {
    const inPieces: Behaviour = ({ answer }) => {
      const message = answer();
      return { octets: Buffer.concat([Buffer.of(0, message.length), message, Buffer.from('more')]) };
    };
    expect(await tried(truncated(inPieces))).toMatchObject({ outcome: FOUND });
  });

  test('a server that has no TCP has not answered', async () => {
    const own = await serverForTest({ zone: ZONE });
    own.behave('*', truncated(silence));
    await own.stopTcp();
    const client = clientForTest([own]);
    expect(await outcome(client, 'example.test', 'A')).toEqual({ failed: 'unreachable' });
  });
});

describe('servers that do not know EDNS', () => {
  test.each([
    ['FORMERR', 1],
    ['NOTIMP', 4],
  ])('%s to it: they are queried again without, in the same try', async (_name, number) => {
    expect(await tried(rejectsEdns(number))).toMatchObject({ outcome: FOUND, questions: 2 });
  });

  test('FORMERR without it too is a failure', async () => {
    const failure = { outcome: { failed: 'rcode' }, message: 'FORMERR from 127.0.0.1' };
    expect(await tried(rcode(1))).toEqual({ ...failure, questions: 2 });
  });

  test('what does not fit into 512 octets comes over TCP', async () => {
    server.generate(() => Array.from({ length: 70 }, (_, at) => `10.1.1.${at}`));
    server.behave('*', rejectsEdns(1));
    expect(await outcome(clientForTest([server]), 'many.test', 'A')).toHaveLength(70);
    expect(server.questions).toBe(3);
  });
});

/** Keeps the program from everything else for longer than SHORT. */
function beBusy(): void {
  const end = performance.now() + 2 * SHORT;
  while (performance.now() < end);
}

/** The beginning of a message, with the length of all of it. */
function part(message: Buffer): Buffer {
  return Buffer.concat([Buffer.of(0, message.length), message.subarray(0, 20)]);
}
