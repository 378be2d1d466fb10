import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createSchema } from '../../src/graphql/schema.js';
import { ResponseMemory } from '../../src/loaders/response-memory.js';
import { granted } from '../../src/resolvers/granted.js';
import { RequestBudget } from '../../src/resolvers/request-budget.js';

/** A response, for which memory is taken. */
function newResponse() {
  const response = { destroyed: false, headersSent: false, req: { socket: { destroy() {} } } };
  return Object.assign(new EventEmitter(), response);
}

// graphql-js waits for all fields of an object before it ends, so that none is left there today.
test('of an execution that was given up, what is paid for only after the restart takes no room from other responses', async () => {
  const memory = new ResponseMemory({
    ...{ octets: 2_000_000, mostWaiting: 10 },
    ...{ milliseconds: 60_000, reading: 60_000 },
  });
  const [response, other] = [newResponse(), newResponse()];
  const payments: (() => void)[] = [];
  const budget = new RequestBudget({
    charge: () => new Promise((resolve) => payments.push(resolve)),
    room: (characters) => memory.take(characters, response),
    release: () => memory.release(response),
    turn: () => undefined,
    isWanted: () => true,
    limited: true,
  });
  const pay = async () => {
    await expect.poll(() => payments.length).toBeGreaterThan(0);
    for (const paid of payments.splice(0)) paid();
  };
  const size = { values: 2_000, octets: 1_000_000 };
  budget.beginTentative();
  const left = budget.take(size);
  expect(() => budget.take(size)).toThrow('Another execution follows.');
  budget.restart();
  const taken = budget.take(size);
  await pay();
  await Promise.all([left, taken]);
  let isAdmitted = false;
  void memory.take(1_000_000, other).then(() => {
    isAdmitted = true;
  });
  await nextTurn();
  expect(isAdmitted, 'beside what the second execution has').toBe(true);
  for (const each of [response, other]) each.emit('close');
});

test('of long lists, those that follow one that is too long are not looked at, and no list waits for the payment of another', async () => {
  const turns: (() => void)[] = [];
  const budget = new RequestBudget({
    charge: () => new Promise(() => {}),
    room: () => new Promise(() => {}),
    release: () => {},
    turn: () => new Promise((begin) => turns.push(begin)),
    isWanted: () => true,
    limited: true,
  });
  const begun: string[] = [];
  const list = (name: string, values: number) =>
    budget.inTurns(function* () {
      budget.left();
      begun.push(name);
      yield 1;
      return budget.take({ values, octets: 1 });
    });
  const lists = ['paid for', 'too long', 'left'].map((name, at) => list(name, [50_000, 250_000, 1][at] ?? 0));
  expect(begun).toEqual(['paid for']);
  turns.shift()?.();
  await expect.poll(() => begun).toEqual(['paid for', 'too long']);
  await expect.poll(() => turns.length).toBe(1);
  turns.shift()?.();
  const message = 'The response would have more than 250000 values';
  for (const rejected of lists.slice(1)) await expect(rejected).rejects.toThrow(message);
  expect(begun).toEqual(['paid for', 'too long']);
});

test('of a request whose client has disconnected, the lists are empty, and nothing is done for them', async () => {
  const turns: (() => void)[] = [];
  let isWanted = true;
  const budget = new RequestBudget({
    charge: async () => {},
    room: async () => {},
    release: () => {},
    turn: () => new Promise((begin) => turns.push(begin)),
    isWanted: () => isWanted,
    limited: false,
  });
  const selected: number[] = [];
  const list = (number: number) =>
    granted(
      function* () {
        yield 1;
        selected.push(number);
        return [{ number }];
      },
      () => 'ARecord',
      budget,
      { fieldNodes: [], fragments: {}, schema: createSchema() },
    );
  const [first, second] = [list(1), list(2)];
  isWanted = false;
  turns.shift()?.();
  expect(await first).toEqual([{ number: 1 }]);
  expect(await second).toEqual([]);
  expect(await list(3)).toEqual([]);
  expect(selected).toEqual([1]);
});
