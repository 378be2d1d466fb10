import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FairTurns, Turns } from '../../src/loaders/turns.js';
import { UnavailableError } from '../../src/model/errors.js';

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
    const refused = { status: 'rejected', reason: expect.any(UnavailableError) };
    expect(results).toEqual([refused, refused]);
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

describe('what nobody waits for any more', () => {
  test('is dropped when its turn comes, and what somebody waits for is loaded in its place', async () => {
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

describe('work that keeps the event loop', () => {
  test('begins at once while it is short together, and has turns of its own otherwise', async () => {
    const turns = new FairTurns();
    expect([turns.take('a', 2), turns.take('b', 2)]).toEqual([undefined, undefined]);
    const later = turns.take('a', 2);
    expect(later).toBeInstanceOf(Promise);
    await later;
    await nextTurn();
    expect(turns.take('a', 1_000)).toBeUndefined();
    expect(turns.take('a', 1)).toBeInstanceOf(Promise);
  });

  test('of one client waits for one piece of each other client, however many these have', async () => {
    const turns = new FairTurns();
    const begun: string[] = [];
    const take = async (client: string) => {
      await turns.take(client, 5);
      begun.push(client);
    };
    const many = Array.from({ length: 50 }, () => take('many'));
    const others = [take('few'), take('more'), take('more')];
    await Promise.all([...many, ...others]);
    expect(begun.slice(0, 6)).toEqual(['many', 'many', 'few', 'more', 'many', 'more']);
    expect(begun).toHaveLength(53);
  });

  test('all begins, each client in its own order, and never more than 5 ms of it in one turn but alone', async () => {
    const work = fc.record({ client: fc.constantFrom('a', 'b', 'c', undefined), milliseconds: fc.nat(12) });
    await fc.assert(
      fc.asyncProperty(fc.array(work, { maxLength: 40 }), async (works) => {
        const turns = new FairTurns();
        const begun: { turn: number; at: number }[] = [];
        let turn = 0;
        let isOver = false;
        const count = async () => {
          for (; !isOver; turn += 1) await nextTurn();
        };
        const counting = count();
        await Promise.all(
          works.map(async ({ client, milliseconds }, at) => {
            await turns.take(client, milliseconds);
            begun.push({ turn, at });
          }),
        );
        isOver = true;
        await counting;
        for (const name of ['a', 'b', 'c', undefined]) {
          const ofClient = begun.map(({ at }) => at).filter((at) => works[at]?.client === name);
          expect(ofClient).toEqual(ofClient.toSorted((one, other) => one - other));
        }
        for (const { turn: each } of begun) {
          const together = begun.filter((other) => other.turn === each);
          const long = together.map(({ at }) => works[at]?.milliseconds ?? 0).filter((length) => length > 0);
          const sum = long.reduce((before, length) => before + length, 0);
          expect(long.length <= 1 || sum <= 5).toBe(true);
        }
        expect(begun).toHaveLength(works.length);
      }),
      { numRuns: 50 },
    );
  });
});
