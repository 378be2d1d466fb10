import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { ResponseMemory } from '../../src/loaders/response-memory.js';
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
    limited: true,
  });
  const pay = async () => {
    await expect.poll(() => payments.length).toBeGreaterThan(0);
    for (const paid of payments.splice(0)) paid();
  };
  const size = { values: 2_000, characters: 1_000_000 };
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
