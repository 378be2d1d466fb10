import { EventEmitter } from 'node:events';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Caller, signalUntil } from '../../src/limits/caller.js';
import { GATE, Gate, type GateOptions, type PlaceKind } from '../../src/limits/gate.js';
import { anonymous, callerOf } from '../support/graphql-executor.js';

/** Requests in the order in which they got their places, and how each gives its place back. */
class Requests {
  readonly entered: string[] = [];
  readonly failed: [name: string, error: unknown][] = [];
  readonly #leave = new Map<string, () => void>();
  readonly #gate: Gate;

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  async send(name: string, caller: Caller, kind?: PlaceKind): Promise<void> {
    await this.#gate.enter(caller, kind).then(
      (leave) => {
        this.entered.push(name);
        this.#leave.set(name, leave);
      },
      (error: unknown) => this.failed.push([name, error]),
    );
  }

  /** Sends so many, and comes back once each has its place or waits. */
  async sendMany(count: number, name: string, caller: Caller, kind?: PlaceKind): Promise<void> {
    for (let at = 0; at < count; at += 1) void this.send(`${name}${at}`, caller, kind);
    await settled();
  }

  async leave(name: string): Promise<void> {
    this.#leave.get(name)?.();
    await settled();
  }
}

/** After the callbacks of all promises that are settled. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function requests(options: Partial<GateOptions> = {}) {
  const gate = new Gate({ ...GATE, ...options });
  return { gate, sent: new Requests(gate) };
}

function clientAt(address: string): Caller {
  return callerOf(anonymous(address));
}

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

const [ONE, OTHER] = [clientAt('192.0.2.1'), clientAt('192.0.2.2')];

describe('a request that finds no place waits for one', () => {
  test('a client has eight, and another client has its own', async () => {
    const { sent } = requests();
    await sent.sendMany(9, 'one', ONE);
    await sent.sendMany(1, 'other', OTHER);
    expect(sent.entered).toEqual([...Array.from({ length: 8 }, (_, at) => `one${at}`), 'other0']);
    await sent.leave('one3');
    expect(sent.entered.at(-1)).toBe('one8');
  });

  test('two of a client are for searches, and do not take the others from it', async () => {
    const { sent } = requests();
    await sent.sendMany(3, 'search', ONE, 'search');
    await sent.sendMany(7, 'ordinary', ONE);
    expect(sent.entered).toEqual([
      ...['search0', 'search1'],
      ...Array.from({ length: 6 }, (_, at) => `ordinary${at}`),
    ]);
    await sent.leave('ordinary0');
    expect(sent.entered.at(-1)).toBe('ordinary6');
    await sent.leave('search1');
    expect(sent.entered.at(-1)).toBe('search2');
  });

  test('a process has 64, 16 of them for searches', async () => {
    const { gate, sent } = requests();
    for (let at = 0; at < 10; at += 1) await sent.sendMany(2, `search${at}-`, clientAt(`a${at}`), 'search');
    expect(gate.taken).toBe(16);
    for (let at = 0; at < 10; at += 1) await sent.sendMany(8, `ordinary${at}-`, clientAt(`b${at}`));
    expect(gate.taken).toBe(64);
    expect(sent.failed).toEqual([]);
  });

  test('a place that is given back twice counts once', async () => {
    const { gate } = requests();
    const leave = await gate.enter(ONE);
    await gate.enter(ONE);
    leave();
    leave();
    expect(gate.taken).toBe(1);
  });
});

test('clients that wait take turns, however many requests each has sent', async () => {
  const { sent } = requests({ places: 1 });
  await sent.send('first', ONE);
  await sent.sendMany(3, 'many', ONE);
  await sent.sendMany(2, 'few', OTHER);
  for (const name of ['first', 'many0', 'few0', 'many1', 'few1', 'many2']) await sent.leave(name);
  const turns = sent.entered.slice(1);
  expect(new Set(turns.slice(0, 2))).toEqual(new Set(['many0', 'few0']));
  expect(new Set(turns.slice(2, 4))).toEqual(new Set(['many1', 'few1']));
  expect(turns.slice(4)).toEqual(['many2']);
});

describe('who cannot wait is told so', () => {
  test('the next of a client of which a hundred wait, at once; those of others wait', async () => {
    const { sent } = requests();
    await sent.sendMany(8 + 100, 'one', ONE);
    expect(sent.failed).toEqual([]);
    await sent.sendMany(1, 'beyond', ONE);
    expect(sent.failed).toMatchObject([['beyond0', { code: 'UNAVAILABLE', retryAfter: 1 }]]);
    await sent.sendMany(9, 'other', OTHER);
    expect(sent.failed).toHaveLength(1);
  });

  test('and who has waited for ten seconds, here a moment', async () => {
    expect(GATE.wait).toBe(10_000);
    const { gate, sent } = requests({ wait: 20, clientPlaces: 1 });
    await sent.send('first', ONE);
    await sent.send('second', ONE);
    expect(sent.failed).toMatchObject([['second', { code: 'UNAVAILABLE', retryAfter: 1 }]]);
    await sent.leave('first');
    await sent.send('third', ONE);
    expect(sent.entered).toEqual(['first', 'third']);
    expect(gate.taken).toBe(1);
  });
});

describe('a client that has gone while it waited', () => {
  const gone = (viewer = ONE.viewer) => {
    const client = new AbortController();
    return { caller: { viewer, signal: signalUntil(client.signal) }, go: () => client.abort() };
  };

  test('waits no more', async () => {
    const { sent } = requests({ clientPlaces: 1 });
    const { caller, go } = gone();
    await sent.sendMany(1, 'first', ONE);
    await sent.sendMany(1, 'gone', caller);
    go();
    await settled();
    expect(sent.failed).toMatchObject([['gone0', { name: 'ClientGoneError' }]]);
  });

  test('takes no place: the next one of its address gets it', async () => {
    const { gate, sent } = requests({ clientPlaces: 1 });
    const { caller, go } = gone();
    await sent.send('first', ONE);
    await sent.sendMany(1, 'gone', caller);
    await sent.sendMany(1, 'next', ONE);
    go();
    await sent.leave('first');
    expect(sent.entered).toEqual(['first', 'next0']);
    expect(sent.failed).toMatchObject([['gone0', { name: 'ClientGoneError' }]]);
    expect(gate.taken).toBe(1);
  });

  test('and neither keeps it from another client', async () => {
    const { sent } = requests({ places: 1 });
    const { caller, go } = gone(OTHER.viewer);
    await sent.send('first', ONE);
    await sent.sendMany(3, 'gone', caller);
    await sent.sendMany(1, 'next', clientAt('192.0.2.3'));
    go();
    await sent.leave('first');
    expect(sent.entered).toEqual(['first', 'next0']);
  });
});

describe('large histories', () => {
  test('are read two at a time, in places besides those of their requests', async () => {
    const { gate, sent } = requests();
    await sent.sendMany(8, 'one', ONE);
    await sent.sendMany(3, 'large', ONE, 'large');
    await sent.sendMany(1, 'other', OTHER, 'large');
    expect(sent.entered.slice(8)).toEqual(['large0', 'large1']);
    expect(gate.taken).toBe(8);
    await sent.leave('large0');
    await sent.leave('large1');
    expect(sent.entered.slice(10)).toEqual(['large2', 'other0']);
  });

  test('wait no longer than other requests', async () => {
    const { sent } = requests({ wait: 20, largePlaces: 0 });
    await sent.send('large', ONE, 'large');
    expect(sent.failed).toMatchObject([['large', { name: 'BusyError', retryAfter: 1 }]]);
  });
});

describe('octets that were written and are not read yet', () => {
  const MB = 1024 ** 2;

  test('keep the next requests of their client waiting beyond 8 MB, and nobody else', async () => {
    const { gate, sent } = requests();
    const responses = [new Connection(), new Connection()];
    for (const response of responses) gate.written(ONE, 4 * MB, response);
    await sent.sendMany(3, 'one', ONE);
    await sent.sendMany(1, 'other', OTHER);
    expect(sent.entered).toEqual(['other0']);
    responses[0]?.close();
    await settled();
    // All for which there is a place, and not one by one.
    expect(sent.entered).toEqual(['other0', 'one0', 'one1', 'one2']);
  });

  test('keep all waiting beyond 128 MB', async () => {
    const { gate, sent } = requests();
    const responses = Array.from({ length: 16 }, () => new Connection());
    for (const [at, response] of responses.entries()) gate.written(clientAt(`a${at}`), 8 * MB, response);
    await sent.sendMany(1, 'other', OTHER);
    expect(sent.entered).toEqual([]);
    responses[3]?.close();
    await settled();
    expect(sent.entered).toEqual(['other0']);
  });

  test('count no more where they are read already, or their client has gone before they were written', async () => {
    const { gate, sent } = requests();
    const [read, closed] = [new Connection(), new Connection()];
    read.writableLength = 0;
    closed.close();
    for (const response of [read, closed]) gate.written(ONE, 9 * MB, response);
    await sent.sendMany(1, 'one', ONE);
    expect(sent.entered).toEqual(['one0']);
  });
});

test('whatever comes and goes, no place is given twice, none is lost, and nobody waits beside a free one', async () => {
  const options = {
    places: 5,
    searchPlaces: 3,
    clientPlaces: 3,
    clientSearchPlaces: 2,
    clientWaiting: 1_000,
  };
  const step = fc.record({
    client: fc.integer({ min: 0, max: 3 }),
    kind: fc.constantFrom<PlaceKind>('ordinary', 'search'),
    leaves: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const gate = new Gate({ ...GATE, ...options });
      const inside: { client: number; kind: PlaceKind; leave: () => void }[] = [];
      const waiting: { client: number; kind: PlaceKind }[] = [];
      const enter = (client: number, kind: PlaceKind) => {
        const request = { client, kind };
        waiting.push(request);
        void gate.enter(clientAt(`${client}`), kind).then((leave) => {
          waiting.splice(waiting.indexOf(request), 1);
          inside.push({ ...request, leave });
        });
      };
      const count = (kind?: PlaceKind, client?: number) =>
        inside.filter((each) => (kind ?? each.kind) === each.kind && (client ?? each.client) === each.client)
          .length;
      const hasPlace = ({ client, kind }: { client: number; kind: PlaceKind }) =>
        inside.length < options.places &&
        count(undefined, client) < options.clientPlaces &&
        (kind === 'ordinary' ||
          (count('search') < options.searchPlaces && count('search', client) < options.clientSearchPlaces));
      for (const { client, kind, leaves } of steps) {
        if (leaves) inside.splice(client % Math.max(1, inside.length), 1)[0]?.leave();
        else enter(client, kind);
        await settled();
        expect(gate.taken).toBe(inside.length);
        expect(inside.length).toBeLessThanOrEqual(options.places);
        expect(count('search')).toBeLessThanOrEqual(options.searchPlaces);
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
