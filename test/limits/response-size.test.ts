import { expect, test } from 'vitest';
import { ResponseSize, requireListSize } from '../../src/limits/response-size.js';

const MB = 1024 ** 2;
const ADVICE = 'Use a connection.';
const message = expect.stringContaining(ADVICE);
const TOO_LARGE = expect.objectContaining({ code: 'TOO_LARGE', message });

test('a list without pages has at most 5,000 entries and 1 MB, and its error says what to use', () => {
  const addList = (entries: number, octets: number) => new ResponseSize().addList(entries, octets, 1, ADVICE);
  const requireSize = (entries: number, octets: number) => requireListSize(entries, octets, ADVICE);
  for (const add of [addList, requireSize]) {
    expect(() => add(5_000, 0)).not.toThrow();
    expect(() => add(1, MB)).not.toThrow();
    expect(() => add(5_001, 0)).toThrow(TOO_LARGE);
    expect(() => add(1, MB + 1)).toThrow(TOO_LARGE);
  }
});

test('the lists of a response have 4 MB together, and each that comes after is too large', () => {
  const size = new ResponseSize();
  for (let list = 0; list < 4; list += 1) size.addList(1, MB, 1, ADVICE);
  expect(() => size.addList(1, 1, 1, ADVICE)).toThrow(TOO_LARGE);
  expect(() => size.add(1, ADVICE)).toThrow(TOO_LARGE);
  expect(() => size.addList(1, 0, 1, ADVICE)).not.toThrow();
});

test('the lists of a response count as often as their fields are selected', () => {
  expect(() => new ResponseSize().addList(1, MB, 4, ADVICE)).not.toThrow();
  expect(() => new ResponseSize().addList(1, MB, 5, ADVICE)).toThrow(TOO_LARGE);
});

test('the lists of a response that are too large leave room for smaller ones', () => {
  const size = new ResponseSize();
  size.addList(1, MB, 3, ADVICE);
  expect(() => size.addList(1, MB, 2, ADVICE)).toThrow(TOO_LARGE);
  expect(() => size.addList(1, MB, 1, ADVICE)).not.toThrow();
});

test('the lists of a response are read one after the other, until as much was read as it may have', async () => {
  const size = new ResponseSize();
  const read: string[] = [];
  const lists = ['one', 'two', 'three'].map((list) =>
    size.inTurn(async () => {
      size.addRead(0, ADVICE);
      read.push(`${list} begins`);
      await new Promise((resolve) => setImmediate(resolve));
      read.push(`${list} ends`);
      size.addRead(2.5 * MB, ADVICE);
    }),
  );
  const rejected = { status: 'rejected', reason: TOO_LARGE };
  expect(await Promise.allSettled(lists)).toEqual([{ status: 'fulfilled' }, rejected, rejected]);
  expect(read).toEqual(['one begins', 'one ends', 'two begins', 'two ends']);
});
