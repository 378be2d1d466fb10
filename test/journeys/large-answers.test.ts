import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TIME_LIMITS } from '../../src/http/server.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { repeats } from '../support/long-form.js';
import { observation } from '../support/observations.js';
import { startTestService, type TestService } from '../support/service.js';

/** An answer of 16 MB: more than the system buffers of one that is not read. */
const TEXTS = Array.from({ length: 6_000 }, (_, at) => ({
  ...{ host: 'large.example', class: 'IN', type: 'TXT' },
  entries: [String(at), ...Array(5).fill('x'.repeat(250))],
}));

/** About 160 kB of an answer. */
const VALUES = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`x-${at}`, 'x'.repeat(8_000)]));

const ADDRESSES = Array.from({ length: 5_000 }, (_, at) => `10.0.${at >> 8}.${at & 255}`);

let service: TestService;
/** Where clients may take less long to read. */
let impatient: TestService;

beforeAll(async () => {
  // Room for one large history at a time.
  const options = { role: 'api', responseMemory: 1024 ** 2 } as const;
  service = await startTestService(options);
  const { database } = service;
  const timeLimits = { ...TIME_LIMITS, reading: repeats(TIME_LIMITS.reading, 2_000) };
  impatient = await startTestService({ ...options, database, timeLimits });
  await createRecorder(service.database.pool).record([
    observation({ domain: 'large.example', at: 1, records: TEXTS }),
    observation({ domain: 'other.example', at: 1, records: ADDRESSES }),
    observation({ domain: 'medium.example', at: 1, records: ADDRESSES.slice(0, 1_500) }),
    observation({ domain: 'small.example', at: 1, records: ADDRESSES.slice(0, 5) }),
    observation({ domain: 'records.example', at: 1, records: ADDRESSES, headers: { via: 'a' } }),
    observation({ domain: 'headers.example', at: 1, records: ADDRESSES.slice(0, 5), headers: VALUES }),
  ]);
}, 60_000);
afterAll(async () => {
  await impatient.stop();
  await service.stop();
});

function ask(name: string, { url } = service, signal: AbortSignal | null = null): Promise<Response> {
  return fetch(`${url}/api/v1/domain/${name}.example`, { signal });
}

function askByGraphql(...names: readonly string[]): Promise<Response> {
  const fields = names.map((name) => `${name}: domain(name: "${name}.example") { ...H }`).join(' ');
  const query = `{ ${fields} } fragment H on Domain { dnsRecords { ... on DnsRecordEntry { type } } }`;
  return fetch(`${service.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  });
}

/** A client that requests the largest history, and reads only the beginning of the response. */
async function askWithoutReading({ port } = service): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.write('GET /api/v1/domain/large.example HTTP/1.1\r\nhost: a\r\n\r\n');
  await new Promise((resolve) => socket.once('readable', resolve));
  return socket;
}

function unitsLeft(response: Response): number {
  return Number(/r=(\d+)/.exec(response.headers.get('ratelimit') ?? '')?.[1]);
}

async function countRecords(response: Response): Promise<number> {
  return (await response.text()).split('"type":"A"').length - 1;
}

/** Whether it is still without an answer when others that came later have theirs. */
async function isWaiting(answer: Promise<Response>): Promise<boolean> {
  let answered = false;
  answer.then(
    () => {
      answered = true;
    },
    () => {},
  );
  for (let round = 0; round < 5; round += 1) expect((await ask('small')).status).toBe(200);
  return !answered;
}

test('large responses wait for each other, in either API, and small ones do not', async () => {
  const first = await askWithoutReading();
  const second = ask('other');
  const third = askByGraphql('other');
  expect(await isWaiting(second)).toBe(true);
  expect(await isWaiting(third)).toBe(true);
  expect((await askByGraphql('small')).status).toBe(200);
  first.destroy();
  expect([await countRecords(await second), await countRecords(await third)]).toEqual([5_000, 5_000]);
});

test('a client that reads a few bytes now and then does not keep the others from theirs', async () => {
  const slow = await askWithoutReading(impatient);
  let received = 0;
  const reading = setInterval(() => {
    received += slow.read(1_000)?.length ?? 0;
  }, 200);
  const closed = new Promise((resolve) => slow.once('error', resolve).once('end', resolve));
  expect(await countRecords(await ask('other', impatient))).toBe(5_000);
  clearInterval(reading);
  expect(received).toBeGreaterThan(0);
  slow.resume();
  await closed;
  expect(slow.bytesRead).toBeLessThan(12_000_000);
}, 60_000);

test('an answer that waits for others on its connection keeps its room no longer than one that is read', async () => {
  const slow = connect(impatient.port, '127.0.0.1');
  const request = (name: string) => `GET /api/v1/domain/${name}.example HTTP/1.1\r\nhost: a\r\n\r\n`;
  // No large ones, but more together than the system takes.
  slow.write(request('medium').repeat(50) + request('large'));
  slow.on('error', () => {});
  await expect.poll(() => isWaiting(ask('other', impatient))).toBe(true);
  expect(await countRecords(await ask('other', impatient))).toBe(5_000);
  slow.destroy();
}, 60_000);

test('an answer that has been read makes room for the next, on one connection too', async () => {
  for (let round = 0; round < 3; round += 1) expect(await countRecords(await ask('other'))).toBe(5_000);
});

test('a client that goes away while it waits is waited for no longer', async () => {
  const first = await askWithoutReading();
  const going = new AbortController();
  const gone = ask('other', service, going.signal);
  expect(await isWaiting(gone)).toBe(true);
  const next = ask('other');
  expect(await isWaiting(next)).toBe(true);
  going.abort();
  await expect(gone).rejects.toThrow();
  first.destroy();
  expect((await next).status).toBe(200);
});

test('one request for more large histories than there is room for is rejected as a whole, each time', async () => {
  for (let time = 0; time < 5; time += 1) {
    const response = await askByGraphql('other', 'large', 'small');
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      errors: [
        {
          message: expect.stringContaining('request fewer at once'),
          extensions: { code: 'QUERY_TOO_COMPLEX' },
        },
      ],
      extensions: { cost: expect.any(Number), estimatedCost: expect.any(Number) },
    });
  }
});

describe('a request for one part of a history neither waits for the room that the other would take, nor pays for it', () => {
  test.each([
    ['records', 'headers', 'dns', 'httpHeaders { name }', 'dnsRecords { __typename }'],
    ['headers', 'dns', 'headers', 'dnsRecords { __typename }', 'httpHeaders { name }'],
  ])('a domain with many %s', async (name, small, large, smallField, largeField) => {
    const headers = { authorization: `Bearer ${await service.createToken()}` };
    const get = (part: string) => fetch(`${service.url}/api/v1/domain/${name}.example/${part}`, { headers });
    const costOf = async (part: string) => {
      const before = unitsLeft(await get(small));
      return before - unitsLeft(await get(part));
    };
    const costByGraphql = async (field: string) => {
      const query = `{ domain(name: "${name}.example") { ${field} } }`;
      const response = await fetch(`${service.url}/graphql?${new URLSearchParams({ query })}`, {
        headers,
      });
      const answer: { extensions: { cost: number } } = JSON.parse(await response.text());
      expect(answer).toMatchObject({ data: { domain: expect.any(Object) } });
      return answer.extensions.cost;
    };
    expect(await costOf(large)).toBeGreaterThan(4);
    expect(await costByGraphql(largeField)).toBeGreaterThan(4);
    const first = await askWithoutReading();
    const waiting = get(large);
    expect(await isWaiting(waiting)).toBe(true);
    expect(await costOf(small)).toBe(1);
    expect(await costByGraphql(smallField)).toBe(1);
    first.destroy();
    expect((await waiting).status).toBe(200);
  });
});

test('the counts of a large history, which need no room, are told at once', async () => {
  const first = await askWithoutReading();
  const token = await service.createToken();
  const details = await fetch(`${service.url}/api/v1/domain/other.example/details`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(await details.json()).toMatchObject({ dnsRecordCount: 5_000 });
  first.destroy();
});
