import { describe, expect, test } from 'vitest';
import { AddressTurns } from '../../../src/observer/http/address-turns.js';
import { StopSwitch } from '../../../src/observer/http/stop-switch.js';

describe('the turns at an address', () => {
  test('are given up to the limit, and then in the order in which they were asked for', async () => {
    const turns = new AddressTurns(1);
    const order: string[] = [];
    const take = async (name: string) => {
      const release = await turns.take('192.0.2.7', new StopSwitch());
      order.push(name);
      return release;
    };
    const first = await take('first');
    const [second, third] = [take('second'), take('third')];
    expect(order).toEqual(['first']);
    first?.();
    (await second)?.();
    (await third)?.();
    expect(order).toEqual(['first', 'second', 'third']);
    (await take('fourth'))?.();
  });

  test('are each address for itself, an IPv4-mapped one being the IPv4 address', async () => {
    const turns = new AddressTurns(1);
    const release = await turns.take('192.0.2.7', new StopSwitch());
    expect(await turns.take('192.0.2.8', new StopSwitch())).toBeDefined();
    expect(await turns.take('2001:db8::7', new StopSwitch())).toBeDefined();
    const mapped = turns.take('::ffff:c000:207', new StopSwitch());
    const isWaiting = await Promise.race([mapped.then(() => false), Promise.resolve(true)]);
    expect(isWaiting).toBe(true);
    release?.();
    expect(await mapped).toBeDefined();
  });

  test('are not given to who has been stopped, while waiting or before', async () => {
    const turns = new AddressTurns(1);
    const release = await turns.take('192.0.2.7', new StopSwitch());
    const stop = new StopSwitch();
    const waiting = turns.take('192.0.2.7', stop);
    stop.stop();
    expect(await waiting).toBeUndefined();
    expect(await turns.take('192.0.2.7', stop)).toBeUndefined();
    release?.();
    expect(await turns.take('192.0.2.7', new StopSwitch())).toBeDefined();
  });
});
