import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ResponseMemory } from '../../src/loaders/response-memory.js';
import { BusyError } from '../../src/model/errors.js';

const OPTIONS = { octets: 100, mostWaiting: 10, milliseconds: 60_000, reading: 60_000 };

/** A client that gets an answer, and goes. */
class Client extends EventEmitter {
  destroyed = false;
  /** Whether its answer is made, and it reads. */
  headersSent = false;
  readonly req = { socket: { destroy: () => this.leave() } };
  held = 0;
  waiting = 0;
  /** What a take was rejected with while the client was there. */
  rejected: unknown;

  /** Takes, if it is admitted. */
  async ask(memory: ResponseMemory, octets: number, client?: string): Promise<void> {
    this.waiting += 1;
    try {
      await memory.take(octets, this, client);
      this.held = Math.min(this.held + octets, OPTIONS.octets);
    } catch (error) {
      if (!this.destroyed) this.rejected = error;
    }
    this.waiting -= 1;
  }

  leave(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.emit('close');
  }
}

async function replaced(client: Client): Promise<Client> {
  client.leave();
  await nextTurn();
  return new Client();
}

/** A client that waits for nothing more has its response, and leaves: in the end none is left. */
async function expectAllToFinish(clients: Client[]): Promise<void> {
  while (clients.length > 0) {
    const finished = clients.findIndex(({ waiting }) => waiting === 0);
    expect(finished, 'all wait for each other').toBeGreaterThanOrEqual(0);
    for (const client of clients.splice(finished, 1)) {
      expect(client.rejected).toBeUndefined();
      await replaced(client);
    }
  }
}

/** The outcome of each requested history, by its name. */
function watch(memory: ResponseMemory) {
  const states = new Map<string, string>();
  const take = (name: string, octets: number, recipient: Client, client?: string) => {
    states.set(name, 'waits');
    void memory.take(octets, recipient, client).then(
      () => states.set(name, 'in'),
      (error: unknown) => states.set(name, error instanceof Error ? error.message : String(error)),
    );
  };
  const settled = async () => {
    await nextTurn();
    return Object.fromEntries(states);
  };
  return { take, settled };
}

describe('large histories', () => {
  test('are in answers together as far as there is room, and the others follow in their order', async () => {
    const { take, settled } = watch(new ResponseMemory(OPTIONS));
    const [a, b, c, d] = [new Client(), new Client(), new Client(), new Client()];
    take('a', 60, a);
    take('b', 50, b);
    take('c', 30, c);
    take('d', 10, d);
    // There is room for c, but it would have the larger one before it wait without end.
    expect(await settled()).toEqual({ a: 'in', b: 'waits', c: 'waits', d: 'waits' });
    a.leave();
    expect(await settled()).toEqual({ a: 'in', b: 'in', c: 'in', d: 'in' });
  });

  test('larger than all the memory pass, alone', async () => {
    const { take, settled } = watch(new ResponseMemory(OPTIONS));
    const [a, b] = [new Client(), new Client()];
    take('a', 1_000_000, a);
    take('b', 1, b);
    expect(await settled()).toEqual({ a: 'in', b: 'waits' });
    a.leave();
    expect(await settled()).toEqual({ a: 'in', b: 'in' });
  });

  test('of a disconnected client wait no longer, and release what they have', async () => {
    const { take, settled } = watch(new ResponseMemory(OPTIONS));
    const [a, gone, late, b] = [new Client(), new Client(), new Client(), new Client()];
    take('a', 90, a);
    take('gone', 90, gone);
    take('b', 10, b);
    gone.leave();
    late.leave();
    take('late', 1, late);
    expect(await settled()).toEqual({
      a: 'in',
      gone: 'The client has gone.',
      b: 'in',
      late: 'The client has gone.',
    });
  });

  test('wait for a bounded time, in a bounded number', async () => {
    const { take, settled } = watch(new ResponseMemory({ ...OPTIONS, mostWaiting: 1, milliseconds: 50 }));
    const [a, b, c] = [new Client(), new Client(), new Client()];
    take('a', 90, a);
    take('b', 90, b);
    take('c', 90, c);
    const busy = new BusyError(5).message;
    expect(await settled()).toEqual({ a: 'in', b: 'waits', c: busy });
    await expect.poll(settled).toEqual({ a: 'in', b: busy, c: busy });
    a.leave();
    take('d', 100, new Client());
    expect(await settled()).toMatchObject({ d: 'in' });
  });

  test('are read for as long as it takes while no other waits, and for a bounded time while one does', async () => {
    const { take, settled } = watch(new ResponseMemory({ ...OPTIONS, reading: 100 }));
    const [slow, unanswered, b] = [new Client(), new Client(), new Client()];
    take('slow', 60, slow);
    take('unanswered', 40, unanswered);
    slow.headersSent = true;
    await pause(300);
    expect(slow.destroyed).toBe(false);
    take('b', 60, b);
    expect(await settled()).toMatchObject({ b: 'waits' });
    await expect.poll(settled).toMatchObject({ b: 'in' });
    expect([slow.destroyed, unanswered.destroyed]).toEqual([true, false]);
    b.headersSent = true;
    await pause(300);
    expect(b.destroyed).toBe(false);
  });

  test('are read for a shorter time the more of them wait', async () => {
    const options = { ...OPTIONS, mostWaiting: 100, milliseconds: 60_000, reading: 2_000 };
    const slowBeside = (waiting: number) => {
      const { take, settled } = watch(new ResponseMemory(options));
      const slow = new Client();
      take('slow', 100, slow);
      slow.headersSent = true;
      for (let at = 0; at < waiting; at += 1) take(`b${at}`, 1, new Client());
      return { slow, settled };
    };
    const [one, many] = [slowBeside(1), slowBeside(90)];
    await expect.poll(() => many.slow.destroyed).toBe(true);
    expect(one.slow.destroyed).toBe(false);
    expect(await many.settled()).toMatchObject({ b0: 'in', b89: 'in' });
    await expect.poll(() => one.slow.destroyed).toBe(true);
  });

  test('of one client have half of the memory, and those of others pass meanwhile', async () => {
    const { take, settled } = watch(new ResponseMemory(OPTIONS));
    const [a, b, c, d] = [new Client(), new Client(), new Client(), new Client()];
    take('a', 40, a, 'greedy');
    take('b', 20, b, 'greedy');
    take('c', 10, c, 'greedy');
    take('d', 50, d, 'other');
    expect(await settled()).toEqual({ a: 'in', b: 'waits', c: 'in', d: 'in' });
    a.leave();
    expect(await settled()).toEqual({ a: 'in', b: 'in', c: 'in', d: 'in' });
  });

  test('of one answer go on while its client has no other: parts pass as the whole would', async () => {
    const { take, settled } = watch(new ResponseMemory(OPTIONS));
    const [a, b, other] = [new Client(), new Client(), new Client()];
    take('first', 30, a, 'one');
    take('other', 10, other, 'two');
    take('second', 30, a, 'one');
    take('more', 10, b, 'one');
    expect(await settled()).toEqual({ first: 'in', other: 'in', second: 'in', more: 'waits' });
  });

  test('of an execution that is dropped give back what they have and what they wait for', async () => {
    const memory = new ResponseMemory(OPTIONS);
    const { take, settled } = watch(memory);
    const [a, b] = [new Client(), new Client()];
    take('b', 60, b);
    take('a', 40, a);
    take('dropped', 60, a);
    expect(await settled()).toEqual({ b: 'in', a: 'in', dropped: 'waits' });
    memory.release(a);
    take('again', 40, a);
    expect(await settled()).toMatchObject({ dropped: 'The client has gone.', again: 'in' });
  });

  test('of one answer take no more than all the memory, in any order, and others wait until it is read', async () => {
    for (const [first, second, third] of [
      [60, 60, 40],
      [40, 60, 60],
      [1_000, 1, 0.5],
    ] as const) {
      const { take, settled } = watch(new ResponseMemory(OPTIONS));
      const [a, b] = [new Client(), new Client()];
      take('one', first, a);
      take('two', second, a);
      take('three', third, a);
      take('other', 1, b);
      expect(await settled()).toEqual({ one: 'in', two: 'in', three: 'in', other: 'waits' });
      a.leave();
      expect(await settled()).toMatchObject({ other: 'in' });
    }
  });

  test('of answers that would wait for each other are finished one after the other', async () => {
    const { take, settled } = watch(new ResponseMemory(OPTIONS));
    const [a, b] = [new Client(), new Client()];
    take('a1', 50, a);
    take('b1', 50, b);
    take('b2', 50, b);
    expect(await settled()).toEqual({ a1: 'in', b1: 'in', b2: 'waits' });
    take('a2', 50, a);
    expect(await settled()).toEqual({ a1: 'in', b1: 'in', a2: 'waits', b2: 'in' });
    b.leave();
    expect(await settled()).toMatchObject({ a2: 'in' });
  });

  test('are all admitted, and never more than twice the memory, in any order of clients', async () => {
    const step = fc.record({
      place: fc.nat(4),
      octets: fc.integer({ min: 1, max: 120 }),
      leaves: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const memory = new ResponseMemory({ ...OPTIONS, mostWaiting: 1000 });
        const clients = Array.from({ length: 5 }, () => new Client());
        for (const { place, octets, leaves } of steps) {
          const client = clients[place] ?? new Client();
          // Two of them respond to one client.
          void client.ask(memory, octets, place < 2 ? 'both' : String(place));
          await nextTurn();
          expect(clients.reduce((sum, { held }) => sum + held, 0)).toBeLessThanOrEqual(2 * OPTIONS.octets);
          if (leaves) clients[place] = await replaced(client);
        }
        await expectAllToFinish(clients);
      }),
    );
  });
});
