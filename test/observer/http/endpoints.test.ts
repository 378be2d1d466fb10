import { describe, expect, test } from 'vitest';
import { Endpoints } from '../../../src/observer/http/endpoints.js';

const SECOND = 1000;
const ENDPOINT = '192.0.2.7:443';
const NEVER = new AbortController().signal;

function afterTimeouts(count: number): Endpoints {
  const endpoints = new Endpoints(1);
  for (let at = 0; at < count; at += 1) endpoints.recordTimeout(ENDPOINT, 0, 0);
  return endpoints;
}

describe('requests to an endpoint', () => {
  test('are not sent for half a minute when eight in a row had no answer in time', () => {
    expect(afterTimeouts(7).allows(ENDPOINT, SECOND)).toBe(true);
    expect(afterTimeouts(8).allows(ENDPOINT, 29 * SECOND)).toBe(false);
  });

  test('are counted for each port of the address', () => {
    expect(afterTimeouts(8).allows('192.0.2.7:80', SECOND)).toBe(true);
  });

  test('are counted anew after an answer', () => {
    const endpoints = afterTimeouts(7);
    endpoints.recordResponse(ENDPOINT, 1);
    endpoints.recordTimeout(ENDPOINT, 2, 3);
    expect(endpoints.allows(ENDPOINT, SECOND)).toBe(true);
  });

  test('that time out do not count if another had an answer meanwhile', () => {
    const endpoints = afterTimeouts(7);
    endpoints.recordResponse(ENDPOINT, 2 * SECOND);
    for (let at = 0; at < 8; at += 1) endpoints.recordTimeout(ENDPOINT, SECOND, 3 * SECOND);
    expect(endpoints.allows(ENDPOINT, 4 * SECOND)).toBe(true);
  });

  test('after the half minute are one, and the others when it is answered', () => {
    const endpoints = afterTimeouts(8);
    expect(endpoints.allows(ENDPOINT, 30 * SECOND)).toBe(true);
    expect(endpoints.allows(ENDPOINT, 31 * SECOND)).toBe(false);
    endpoints.recordResponse(ENDPOINT, 32 * SECOND);
    expect(endpoints.allows(ENDPOINT, 32 * SECOND)).toBe(true);
  });
});

describe('the connections to an address', () => {
  /** Something that runs there until it is ended. */
  function begin(endpoints: Endpoints, address: string, signal = NEVER) {
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const state = { running: false, end };
    const result = endpoints.run(address, signal, async () => {
      state.running = true;
      await ended;
      return address;
    });
    return { state, result };
  }

  const turn = () => new Promise((resolve) => setImmediate(resolve));

  test('are made up to the limit, and then in the order of the requests', async () => {
    const endpoints = new Endpoints(2);
    const runs = Array.from({ length: 5 }, () => begin(endpoints, '192.0.2.7'));
    for (let ended = 0; ended < runs.length; ended += 1) {
      await turn();
      expect(runs.map(({ state }) => state.running)).toEqual(runs.map((_run, at) => at < ended + 2));
      runs[ended]?.state.end();
    }
    expect(await Promise.all(runs.map(({ result }) => result))).toEqual(runs.map(() => '192.0.2.7'));
  });

  test('are limited for each address, an IPv4-mapped one being the IPv4 address', async () => {
    const endpoints = new Endpoints(1);
    const addresses = ['192.0.2.7', '192.0.2.8', '2001:db8::7', '::ffff:c000:207', '2001:DB8:0::7'];
    const runs = addresses.map((address) => begin(endpoints, address));
    await turn();
    expect(runs.map(({ state }) => state.running)).toEqual([true, true, true, false, false]);
    for (const { state } of runs) state.end();
    expect(await Promise.all(runs.map(({ result }) => result))).toEqual(addresses);
  });

  test('are not made for what is aborted, while waiting or before, and another gets its place', async () => {
    const endpoints = new Endpoints(1);
    const first = begin(endpoints, '192.0.2.7');
    const stop = new AbortController();
    const second = begin(endpoints, '192.0.2.7', stop.signal);
    const third = begin(endpoints, '192.0.2.7');
    stop.abort();
    expect(await second.result).toBeUndefined();
    expect(await begin(endpoints, '192.0.2.7', stop.signal).result).toBeUndefined();
    first.state.end();
    third.state.end();
    expect([await first.result, await third.result]).toEqual(['192.0.2.7', '192.0.2.7']);
    expect(second.state.running).toBe(false);
  });

  test('leave the place of one that fails to the next', async () => {
    const endpoints = new Endpoints(1);
    const failing = endpoints.run('192.0.2.7', NEVER, () => Promise.reject(new Error('it fails')));
    const next = begin(endpoints, '192.0.2.7');
    await expect(failing).rejects.toThrow('it fails');
    next.state.end();
    expect(await next.result).toBe('192.0.2.7');
  });
});
