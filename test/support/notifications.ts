import { Registry } from 'prom-client';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, expect, vi } from 'vitest';
import { createAsking } from '../../src/asking.js';
import { readClockLead } from '../../src/database/server-checks.js';
import type { RestChange } from '../../src/notify/changes.js';
import type { WatchedState } from '../../src/notify/messages.js';
import { Sender } from '../../src/notify/sender.js';
import { createRecorder } from '../../src/recorder/recorder.js';
import { createLogger } from '../../src/telemetry/logging.js';
import { runDms } from '../journeys/dms-command.js';
import { databaseOfFile, emptyTestDatabase, type TestDatabase } from './database.js';
import { observation } from './observations.js';
import { startReceiver } from './receiver.js';

const WAITING = { timeout: 50_000, interval: 50 };
export const HOUR = 3_600_000_000n;
/** Before all that the tests record. */
export const FROM = ['--from', '2000-01-01'];

export let database: TestDatabase;
export let receiver: Awaited<ReturnType<typeof startReceiver>>;
export let secret: string;
let senders: Sender[] = [];
export let registry: Registry;
export let log: string[];
export const state = {
  /** What the clock of the senders is ahead, in microseconds. */
  ahead: 0n,
  /** What happens each time that the senders read changes, before. */
  beforePage: async () => {},
};

export function prepareSenders(): void {
  database = databaseOfFile();
  beforeEach(async () => {
    await emptyTestDatabase(database);
    receiver = await startReceiver();
    registry = new Registry();
    log = [];
    state.ahead = 0n;
    state.beforePage = async () => {};
  });
  afterEach(async () => {
    for (const sender of senders) await sender.stop(0);
    senders = [];
    await receiver.close();
  });
}

export const now = () => BigInt(Date.now()) * 1000n;

export function startSender(options: Partial<ConstructorParameters<typeof Sender>[0]> = {}): void {
  const sender = new Sender({
    prisma: database.writingPrisma,
    registry,
    allowPrivate: true,
    smtp: undefined,
    idle: 50,
    basePath: '/dms',
    openQuestions: async () => {
      const asking = createAsking(database);
      return { ...asking, ask: (question) => state.beforePage().then(() => asking.ask(question)) };
    },
    log: createLogger({ level: 'debug', stream: { write: (line) => log.push(line) } }),
    now: () => now() + state.ahead,
    readClockLead: () => readClockLead(database.pool, now),
    ...options,
  });
  senders.push(sender);
}

export function dms(...args: readonly string[]) {
  return runDms(args, { ...database.environment, NOTIFY_PRIVATE: 'allow' });
}

export async function add(...options: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await dms('notify', 'add', 'ops', '--url', receiver.url, ...options);
  expect([code, stderr]).toEqual([0, expect.stringContaining('the only time')]);
  secret = stdout.trim();
}

/** With all changes, sent from now on; an address is recorded. */
export async function begin(...options: readonly string[]): Promise<string> {
  await add(...FROM, '--all', ...options);
  startSender();
  return recordAddress();
}

export async function listed(): Promise<Record<string, unknown>> {
  return JSON.parse((await dms('notify', 'list', '--json')).stdout);
}

export const stored = () => database.prisma.notification.findFirstOrThrow();

export function record(...observations: Parameters<typeof observation>[0][]) {
  return createRecorder(database.pool).record(observations.map(observation));
}

/** Records an address that the domain had at no time before. */
let hour = 0;
export async function recordAddress(domain = 'example.com'): Promise<string> {
  hour += 100;
  const address = `192.0.2.${(hour / 100) % 250}`;
  await record({ domain, at: hour * 3600, records: [address] });
  return address;
}

export async function recordDomains(count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, number) => `d${number}.example`);
  await record(...names.map((domain) => ({ domain, at: 1, records: ['192.0.2.1'] })));
  return names;
}

interface Body {
  readonly type: string;
  readonly data: Readonly<{ changes: readonly RestChange[]; domains?: readonly WatchedState[] }>;
}

/** The messages that were received, whose signatures are verified. */
export function messages(): Body[] {
  // The fields of a message are there once each.
  return receiver.received.map(
    ({ headers, body }) => new Webhook(secret).verify(body, headers as Record<string, string>) as Body,
  );
}

export const changesTold = () => messages().flatMap(({ data }) => data.changes);
export const ids = () => receiver.received.map(({ headers }) => headers['webhook-id']);
export const eventually = (check: () => unknown) => vi.waitFor(check, WAITING);
export const received = (count: number) =>
  eventually(() => expect(receiver.received.length).toBeGreaterThanOrEqual(count));
export const isListed = (expected: object) =>
  eventually(async () => expect(await listed()).toMatchObject(expected));

/** Until nothing is kept any more. */
export const allReceived = () => {
  const idle = { messageId: null, leasedUntil: 0n, receivedAt: expect.anything() };
  return eventually(async () => expect(await stored()).toMatchObject(idle));
};

export async function delivered(count: number): Promise<void> {
  await received(count);
  await allReceived();
}
