import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FairTurns } from '../../src/rates/fair-turns.js';

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

  test('begins at once where it takes less than half a millisecond, up to 10 ms in a turn', async () => {
    const turns = new FairTurns();
    const taken = [5, 5, ...Array.from({ length: 20 }, () => 0.4)].map((length) => turns.take('a', length));
    const short = Array.from({ length: 20 }, (_, index) => 5 + index * 0.4 < 10);
    expect(taken.map((turn) => turn === undefined)).toEqual([true, false, ...short]);
    await Promise.all(taken);
    await nextTurn();
    for (let index = 0; index < 20; index += 1) void turns.take('a', 0.4);
    expect(turns.take('b', 1)).toBeInstanceOf(Promise);
  });

  test('waits while there are connections to accept, for eight turns at most', async () => {
    const turns = new FairTurns();
    void turns.take('a', 5);
    let begun = 0;
    const waiting = [1, 2].map(async () => {
      await turns.take('a', 5);
      begun += 1;
    });
    for (let turn = 1; turn <= 10; turn += 1) {
      turns.accepted();
      await nextTurn();
      expect(begun).toBe(turn <= 8 ? 0 : 1);
    }
    await Promise.all(waiting);
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

  test('of one client in short pieces is not behind others in long ones: of each as much time', async () => {
    const turns = new FairTurns();
    const begun: string[] = [];
    const take = async (client: string, milliseconds: number) => {
      await turns.take(client, milliseconds);
      begun.push(client);
    };
    const long = Array.from({ length: 6 }, () => ['a', 'b'].map((client) => take(client, 60))).flat();
    const short = Array.from({ length: 100 }, () => take('short', 1));
    await Promise.all([...long, ...short]);
    const before = begun.slice(0, begun.lastIndexOf('short'));
    expect(before.filter((client) => client !== 'short').length).toBeLessThanOrEqual(5);
  });

  test('all begins, each client in its own order, and never more than 5 ms of it in one turn but alone', async () => {
    const work = fc.record({
      client: fc.constantFrom('a', 'b', 'c', undefined),
      milliseconds: fc.integer({ min: 1, max: 12 }),
    });
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
          const sum = together.reduce((before, { at }) => before + (works[at]?.milliseconds ?? 0), 0);
          expect(together.length === 1 || sum <= 5).toBe(true);
        }
        expect(begun).toHaveLength(works.length);
      }),
      { numRuns: 50 },
    );
  });
});
