import { setTimeout } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createLoaders } from '../../src/loaders/create-loaders.js';
import { Turns } from '../../src/loaders/turns.js';
import { UnavailableError } from '../../src/model/errors.js';
import { openTestDatabase } from '../support/database.js';

interface Key {
  readonly name: string;
  readonly recipient?: { destroyed: boolean };
}

/** A load that the test ends when it likes. */
function heldLoad() {
  const loaded: string[][] = [];
  const ends: (() => void)[] = [];
  const load = (keys: readonly Key[]) =>
    new Promise<string[]>((resolve) => {
      const names = keys.map(({ name }) => name);
      loaded.push(names);
      ends.push(() => resolve(names.map((name) => name.toUpperCase())));
    });
  return { load, loaded, ends };
}

const LIMITS = { atOnce: 1, mostWaiting: 2, milliseconds: 60_000 };
const keys = (...names: string[]): Key[] => names.map((name) => ({ name }));

describe('batches that are loaded in turn', () => {
  test('are so many at once, and the others follow in their order', async () => {
    const { load, loaded, ends } = heldLoad();
    const inTurn = new Turns(LIMITS).inTurn(load);
    const batches = [inTurn(keys('a', 'b')), inTurn(keys('c')), inTurn(keys('d'))];
    expect(loaded).toEqual([['a', 'b']]);
    for (const [place, batch] of batches.entries()) {
      ends[place]?.();
      await batch;
    }
    expect(await Promise.all(batches)).toEqual([['A', 'B'], ['C'], ['D']]);
    expect(loaded).toEqual([['a', 'b'], ['c'], ['d']]);
  });

  test('are rejected at once where too many wait, and taken again when they do not', async () => {
    const { load, ends } = heldLoad();
    const inTurn = new Turns(LIMITS).inTurn(load);
    const batches = [inTurn(keys('a')), inTurn(keys('b')), inTurn(keys('c'))];
    await expect(inTurn(keys('d'))).rejects.toThrow(UnavailableError);
    ends[0]?.();
    await batches[0];
    const later = inTurn(keys('e'));
    for (let place = 1; place < 4; place += 1) {
      await expect.poll(() => ends.length).toBeGreaterThan(place);
      ends[place]?.();
    }
    expect(await later).toEqual(['E']);
  });

  test('fail for those alone that still wait, where some have gone meanwhile', async () => {
    const gone = { name: 'a', recipient: { destroyed: false } };
    const failing = new Turns(LIMITS).inTurn<Key, string>(async () => {
      gone.recipient.destroyed = true;
      throw new TypeError('the database is away');
    });
    expect(await failing([gone, { name: 'b' }])).toEqual([
      expect.objectContaining({ code: 'UNAVAILABLE', message: 'The client has gone.' }),
      expect.any(TypeError),
    ]);
  });

  test('are rejected when they take too long, waiting or not, and are not loaded any more then', async () => {
    const { load, loaded, ends } = heldLoad();
    const inTurn = new Turns({ ...LIMITS, milliseconds: 500 }).inTurn(load);
    const results = await Promise.allSettled([inTurn(keys('a')), inTurn(keys('b'))]);
    const rejected = { status: 'rejected', reason: expect.any(UnavailableError) };
    expect(results).toEqual([rejected, rejected]);
    ends[0]?.();
    const next = inTurn(keys('c'));
    await expect.poll(() => loaded.at(-1)).toEqual(['c']);
    ends.at(-1)?.();
    expect(await next).toEqual(['C']);
    expect(loaded.flat()).toEqual(['a', 'c']);
  });

  test('a load that fails gives its turn away', async () => {
    const inTurn = new Turns(LIMITS).inTurn<Key, string>(([key]) =>
      key?.name === 'bad' ? Promise.reject(new Error('bad')) : Promise.resolve(['good']),
    );
    await expect(inTurn(keys('bad'))).rejects.toThrow('bad');
    expect(await inTurn(keys('good'))).toEqual(['good']);
  });
});

describe('what no client waits for any more', () => {
  test('is dropped when its turn comes, and what a client waits for is loaded in its place', async () => {
    const { load, loaded, ends } = heldLoad();
    const inTurn = new Turns(LIMITS).inTurn(load);
    const gone = { destroyed: false };
    const here = { destroyed: false };
    const first = inTurn(keys('a'));
    const mixed = inTurn([
      { name: 'b', recipient: gone },
      { name: 'c', recipient: here },
      { name: 'd', recipient: gone },
    ]);
    const abandoned = inTurn([{ name: 'e', recipient: gone }]);
    gone.destroyed = true;
    ends[0]?.();
    await first;
    await expect.poll(() => ends.length).toBe(2);
    ends[1]?.();
    const unavailable = expect.objectContaining({ code: 'UNAVAILABLE' });
    expect(await mixed).toEqual([unavailable, 'C', unavailable]);
    expect(await abandoned).toEqual([unavailable]);
    expect(loaded).toEqual([['a'], ['c']]);
  });
});

test('of pages, a client has two read at once and all clients four: domains are read beside them', async () => {
  const held: (() => void)[] = [];
  const heldOf = async (count: number) => {
    await expect.poll(() => held.length).toBe(count);
    // Others would begin in the same turn of the event loop.
    await setTimeout(20);
    expect(held).toHaveLength(count);
  };
  const database = await openTestDatabase();
  const loaders = createLoaders(database.prisma, {
    aroundBatch: async (loader, _size, load) => {
      if (loader !== 'domainRow') await new Promise<void>((resolve) => held.push(resolve));
      return load();
    },
  });
  const pages = (client: string) =>
    Array.from({ length: 5 }, () => loaders.domains.load({ filter: {}, first: 10, client }));
  const read = pages('one');
  await heldOf(2);
  read.push(...pages('two'));
  await heldOf(4);
  read.push(...pages('three'));
  await heldOf(4);
  const parts = { dnsRecords: false, httpHeaders: false, counts: false };
  expect(await loaders.domainHistory.load({ name: 'nothing.example', client: 'four', ...parts })).toBeNull();
  const later = loaders.domains.load({ filter: {}, first: 10, client: 'five' });
  for (let ended = 0; ended < 16; ended += 1) {
    await expect.poll(() => held.length).toBeGreaterThan(ended);
    expect(held.length - ended).toBeLessThanOrEqual(4);
    held[ended]?.();
  }
  await Promise.all([...read, later]);
  await database.close();
});
