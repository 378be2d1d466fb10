import { EventEmitter } from 'node:events';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Caller, signalUntil } from '../../src/limits/caller.js';
import { GATE, Gate, type GateOptions, LARGE_HISTORIES } from '../../src/limits/gate.js';
import { anonymous, callerOf } from '../support/graphql-executor.js';

/** After the callbacks of all promises that are settled. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A gate, and requests in the order in which they got their places. */
function open(options: Partial<GateOptions> = {}) {
  const gate = new Gate({ ...GATE, ...options });
  const entered: string[] = [];
  const failed: [name: string, error: unknown][] = [];
  const places = new Map<string, () => void>();
  const send = (name: string, caller: Caller, isSearch = false) =>
    gate.enter(caller, isSearch).then(
      (leave) => {
        entered.push(name);
        places.set(name, leave);
      },
      (error: unknown) => failed.push([name, error]),
    );
  return {
    gate,
    entered,
    failed,
    send,
    /** Sends so many, and comes back once each has its place or waits. */
    async sendMany(count: number, name: string, caller: Caller, isSearch = false): Promise<void> {
      for (let at = 0; at < count; at += 1) void send(`${name}${at}`, caller, isSearch);
      await settled();
    },
    async leave(name: string): Promise<void> {
      places.get(name)?.();
      await settled();
    },
  };
}

const clientAt = (address: string) => callerOf(anonymous(address));
const [ONE, OTHER] = [clientAt('192.0.2.1'), clientAt('192.0.2.2')];
const names = (count: number, name: string) => Array.from({ length: count }, (_, at) => `${name}${at}`);

class Connection extends EventEmitter {
  writableEnded = true;
  /** In octets. */
  writableLength = 1;
  destroyed = false;

  setTimeout(): void {}

  close(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

test('a client has eight places, and another client has its own; the next request waits for one', async () => {
  const { entered, sendMany, leave } = open();
  await sendMany(9, 'one', ONE);
  await sendMany(1, 'other', OTHER);
  expect(entered).toEqual([...names(8, 'one'), 'other0']);
  await leave('one3');
  expect(entered.at(-1)).toBe('one8');
});

test('two places of a client are for searches, and do not take the others from it', async () => {
  const { entered, sendMany, leave } = open();
  await sendMany(3, 'search', ONE, true);
  await sendMany(7, 'ordinary', ONE);
  expect(entered).toEqual([...names(2, 'search'), ...names(6, 'ordinary')]);
  await leave('ordinary0');
  expect(entered.at(-1)).toBe('ordinary6');
  await leave('search1');
  expect(entered.at(-1)).toBe('search2');
});

test('a process has 64 places, 16 of them for searches', async () => {
  const { gate, failed, sendMany } = open();
  for (let at = 0; at < 10; at += 1) await sendMany(2, `search${at}-`, clientAt(`a${at}`), true);
  expect(gate.taken).toBe(16);
  for (let at = 0; at < 10; at += 1) await sendMany(8, `ordinary${at}-`, clientAt(`b${at}`));
  expect([gate.taken, failed]).toEqual([64, []]);
});

test('large histories are read two at a time, in turns of their clients', async () => {
  const { entered, sendMany, leave } = open(LARGE_HISTORIES);
  await sendMany(3, 'large', ONE);
  await sendMany(1, 'other', OTHER);
  expect(entered).toEqual(['large0', 'large1']);
  await leave('large0');
  await leave('large1');
  expect(entered.slice(2)).toEqual(['large2', 'other0']);
});

test('clients that wait take turns, however many requests each has sent', async () => {
  const { entered, send, sendMany, leave } = open({ all: { ...GATE.all, places: 1 } });
  await send('first', ONE);
  await sendMany(3, 'many', ONE);
  await sendMany(2, 'few', OTHER);
  for (const name of ['first', 'many0', 'few0', 'many1', 'few1', 'many2']) await leave(name);
  const turns = entered.slice(1);
  expect(new Set(turns.slice(0, 2))).toEqual(new Set(['many0', 'few0']));
  expect(new Set(turns.slice(2, 4))).toEqual(new Set(['many1', 'few1']));
  expect(turns.slice(4)).toEqual(['many2']);
});

test('the next request of a client of which a hundred wait is rejected at once; those of others wait', async () => {
  const { failed, sendMany } = open();
  await sendMany(8 + 100, 'one', ONE);
  expect(failed).toEqual([]);
  await sendMany(1, 'beyond', ONE);
  await sendMany(9, 'other', OTHER);
  expect(failed).toMatchObject([['beyond0', { code: 'UNAVAILABLE', retryAfter: 1 }]]);
});

const ONE_PLACE = { client: { ...GATE.client, places: 1 } };

test('whoever has waited for ten seconds, here a moment, is rejected', async () => {
  expect(GATE.wait).toBe(10_000);
  const { gate, entered, failed, send, leave } = open({ wait: 20, ...ONE_PLACE });
  await send('first', ONE);
  await send('second', ONE);
  expect(failed).toMatchObject([['second', { code: 'UNAVAILABLE', retryAfter: 1 }]]);
  await leave('first');
  await send('third', ONE);
  expect([entered, gate.taken]).toEqual([['first', 'third'], 1]);
});

test('a client that has gone while it waited waits no more, and takes no place: the next one of its address gets it', async () => {
  const { gate, entered, failed, send, sendMany, leave } = open(ONE_PLACE);
  const client = new AbortController();
  await send('first', ONE);
  await sendMany(1, 'gone', { ...ONE, signal: signalUntil(client.signal) });
  await sendMany(1, 'next', ONE);
  client.abort();
  await settled();
  expect(failed).toMatchObject([['gone0', { name: 'ClientGoneError' }]]);
  await leave('first');
  expect([entered, gate.taken]).toEqual([['first', 'next0'], 1]);
});

test('a client that has gone while it waited keeps no place from another client', async () => {
  const { entered, send, sendMany, leave } = open({ all: { ...GATE.all, places: 1 } });
  const client = new AbortController();
  await send('first', ONE);
  await sendMany(3, 'gone', { ...OTHER, signal: signalUntil(client.signal) });
  await sendMany(1, 'next', clientAt('192.0.2.3'));
  client.abort();
  await leave('first');
  expect(entered).toEqual(['first', 'next0']);
});

const MB = 1024 ** 2;

test('octets that are not read yet keep the next requests of their client waiting beyond 8 MB, and nobody else', async () => {
  const { gate, entered, sendMany } = open();
  const responses = [new Connection(), new Connection()];
  for (const response of responses) gate.written(ONE, 4 * MB, response);
  await sendMany(3, 'one', ONE);
  await sendMany(1, 'other', OTHER);
  expect(entered).toEqual(['other0']);
  responses[0]?.close();
  await settled();
  // All for which there is a place, and not one by one.
  expect(entered).toEqual(['other0', ...names(3, 'one')]);
});

test('octets that are not read yet keep all waiting beyond 128 MB', async () => {
  const { gate, entered, sendMany } = open();
  const responses = Array.from({ length: 16 }, () => new Connection());
  for (const [at, response] of responses.entries()) gate.written(clientAt(`a${at}`), 8 * MB, response);
  await sendMany(1, 'other', OTHER);
  expect(entered).toEqual([]);
  responses[3]?.close();
  await settled();
  expect(entered).toEqual(['other0']);
});

test('octets count no more where they are read already, or their client has gone before they were written', async () => {
  const { gate, entered, sendMany } = open();
  const [read, closed] = [new Connection(), new Connection()];
  read.writableLength = 0;
  closed.close();
  for (const response of [read, closed]) gate.written(ONE, 9 * MB, response);
  await sendMany(1, 'one', ONE);
  expect(entered).toEqual(['one0']);
});

test('whatever comes and goes, no place is given twice, none is lost, and nobody waits beside a free one', async () => {
  const all = { ...GATE.all, places: 5, searches: 3 };
  const client = { ...GATE.client, places: 3, searches: 2 };
  interface Request {
    readonly client: number;
    readonly isSearch: boolean;
  }
  const address = fc.integer({ min: 0, max: 3 });
  const step = fc.record({ client: address, isSearch: fc.boolean(), leaves: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const gate = new Gate({ ...GATE, all, client, waiting: 1_000 });
      const inside: (Request & { leave: () => void })[] = [];
      const waiting: Request[] = [];
      const enter = async (request: Request) => {
        waiting.push(request);
        const leave = await gate.enter(clientAt(`${request.client}`), request.isSearch);
        waiting.splice(waiting.indexOf(request), 1);
        inside.push({ ...request, leave });
      };
      const count = (isCounted: (request: Request) => boolean) => inside.filter(isCounted).length;
      const hasPlace = (request: Request) =>
        inside.length < all.places &&
        count((each) => each.client === request.client) < client.places &&
        (!request.isSearch ||
          (count((each) => each.isSearch) < all.searches &&
            count((each) => each.isSearch && each.client === request.client) < client.searches));
      for (const { leaves, ...request } of steps) {
        if (leaves) inside.splice(request.client % Math.max(1, inside.length), 1)[0]?.leave();
        else void enter(request);
        await settled();
        expect(gate.taken).toBe(inside.length);
        expect(inside.length).toBeLessThanOrEqual(all.places);
        expect(count((each) => each.isSearch)).toBeLessThanOrEqual(all.searches);
        expect(waiting.filter(hasPlace)).toEqual([]);
      }
      while (inside.length > 0) {
        inside.pop()?.leave();
        await settled();
      }
      expect([gate.taken, waiting]).toEqual([0, []]);
    }),
    { numRuns: 50 },
  );
});
