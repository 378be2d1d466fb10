import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { PrismaClient } from '../database/generated/client.js';
import { PublicError } from '../model/errors.js';
import { formatInstant, type Instant, parseInstant } from '../model/instant.js';
import { queryOf } from '../model/request-target.js';
import type { Logger } from '../telemetry/logging.js';
import { endOfChanges, type Page, type Questions, type RestChange } from './changes.js';
import { deliveryOf } from './delivery.js';
import { type KeptMessage, newMessageId, type Sending, type Told } from './messages.js';
import { firstUnsettled, standing, watchedNews } from './news.js';
import { listNotifications, type Notification, UNTRIED, type Update } from './notifications.js';
import { receiverOf } from './receivers.js';

interface SenderOptions extends Sending {
  readonly prisma: PrismaClient;
  /** Called once there is a notification. */
  readonly openQuestions: () => Promise<Questions>;
  readonly basePath: string;
  readonly log: Logger;
  readonly registry: Registry;
  /** The wall clock. */
  readonly now: () => Instant;
  /** In milliseconds, from one look for what is to be sent to the next. */
  readonly idle: number;
  /** In microseconds: leases go by the clock of the database, which is ahead of `now` by so much. */
  readonly readClockLead: () => Promise<bigint>;
}

/** In microseconds: for how long a process has a notification to itself. No message takes as long. */
const LEASE = 120_000_000n;
/** In microseconds, from one look for watched domains that fail to the next. */
const WATCHED_EVERY = 10_000_000n;
/** In microseconds, for what has not settled: watched domains are looked at meanwhile. */
const MAX_WAIT = 60_000_000n;
/** In milliseconds: how long a sender that stops waits for a mail server, or a database, that does not answer. */
const WITHOUT_ANSWER = 5_000;
/** In a message. */
const MAX_CHANGES = 100;

const LOGGED = {
  received: ['info', 'a message was received'],
  retry: ['info', 'a message was not received'],
  paused: ['warn', 'a notification is paused'],
} as const;

/** Sends messages until it is stopped. Any number of processes share the notifications. */
export class Sender {
  readonly #options: SenderOptions;
  readonly #metrics: ReturnType<typeof createMetrics>;
  readonly #lease = randomUUID();
  readonly #stopping = new AbortController();
  readonly #aborting = new AbortController();
  readonly #active = new Map<string, Promise<unknown>>();
  readonly #looking: Promise<void>;
  #nextWatched = 0n;
  readonly #failing = new Set<string>();
  #ahead = 0n;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#metrics = createMetrics(options.registry);
    this.#looking = this.#look();
  }

  /** @param grace For what is being sent, in milliseconds: it is sent again if it was not received. */
  async stop(grace: number): Promise<void> {
    this.#stopping.abort();
    const abort = setTimeout(() => this.#aborting.abort(), grace);
    const ended = this.#looking.then(() => Promise.all(this.#active.values()));
    await Promise.race([ended, pause(grace + WITHOUT_ANSWER, undefined, { ref: false })]);
    clearTimeout(abort);
  }

  async #look(): Promise<void> {
    for (; !this.#stopping.signal.aborted; await this.#pause()) {
      await this.#attempt('*', () => this.#startDue());
    }
  }

  /** Ends at once when the sender stops. */
  #pause(): Promise<void> {
    return pause(this.#options.idle, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }

  #now(): Instant {
    return this.#options.now() + this.#ahead;
  }

  async #startDue(): Promise<void> {
    const { prisma } = this.#options;
    this.#ahead = await this.#options.readClockLead();
    const rows = await listNotifications(prisma);
    const time = this.#now();
    const newest =
      rows.length > 0 ? await prisma.changeFeed.findFirst({ orderBy: { number: 'desc' } }) : null;
    const end = newest?.number ?? 0n;
    const { lag, isPaused } = this.#metrics;
    // In one turn with setting them: they are not missed meanwhile.
    lag.reset();
    isPaused.reset();
    const looksAtWatched = time >= this.#nextWatched;
    if (looksAtWatched) this.#nextWatched = time + WATCHED_EVERY;
    for (const { name: notification, paused, due, keptAt, readTo, watchFailures } of rows) {
      lag.set({ notification }, keptAt === null ? 0 : Number(time - keptAt) / 1e6);
      isPaused.set({ notification }, paused === null ? 0 : 1);
      const isNew = keptAt !== null || readTo !== end || (watchFailures !== null && looksAtWatched);
      if (paused !== null || due > time || !isNew || this.#active.has(notification)) continue;
      const work = this.#attempt(notification, () => this.#work(notification, end));
      const ended = work.then(() => this.#active.delete(notification));
      this.#active.set(notification, ended);
    }
  }

  /** Survives failures: logs the first of several in a row, and the recovery. @returns whether it is done. */
  async #attempt(notification: string, work: () => Promise<void>): Promise<boolean> {
    const { log } = this.#options;
    try {
      await work();
      if (this.#failing.delete(notification)) log.info({ notification }, 'notifications are sent again');
      return true;
    } catch (err) {
      if (!this.#failing.has(notification)) log.error({ err, notification }, 'notifications wait');
      this.#failing.add(notification);
      return false;
    }
  }

  /** Sends for a notification until it is up to date, or has to wait. @param end The newest row of the feed. */
  async #work(name: string, end: bigint): Promise<void> {
    try {
      while (!this.#stopping.signal.aborted) {
        const row = await this.#hold(name);
        if (row === undefined) return;
        const { messageId: id, message: body } = row;
        if (id !== null && body !== null) await this.#send({ ...row, id, body });
        else if (!(await this.#tellWatched(row)) && !(await this.#tellChanges(row, end))) return;
      }
    } finally {
      await this.#update(name, { lease: null, leasedUntil: 0n });
    }
  }

  /** Leases a notification, or extends that; undefined where another process has it, or it has to wait. */
  async #hold(name: string): Promise<Notification | undefined> {
    const [now, lease] = [this.#now(), this.#lease];
    const [row] = await this.#options.prisma.notification.updateManyAndReturn({
      // Its own lease may be left where the database was lost.
      where: { name, paused: null, due: { lte: now }, OR: [{ leasedUntil: { lte: now } }, { lease }] },
      data: { lease, leasedUntil: now + LEASE },
    });
    // Its filter is as addNotification() has stored it.
    return row as Notification | undefined;
  }

  /** Writes only while the lease lasts: what another process has written since is not undone. */
  async #update(name: string, data: Update): Promise<void> {
    await this.#options.prisma.notification.updateMany({ where: { name, lease: this.#lease }, data });
  }

  /** Keeps a message if there is something to tell. @returns whether there is more to do. */
  async #tellChanges(row: Notification, end: bigint): Promise<boolean> {
    const { prisma, openQuestions } = this.#options;
    const questions = await openQuestions();
    const time = this.#now();
    let page = await pageAfter(questions, row, MAX_CHANGES);
    if (page === null) {
      await this.#tellGap(row, await endOfChanges(questions, row.filter));
      return true;
    }
    const unsettled = await firstUnsettled(prisma, row, page.changes, time);
    if (unsettled?.index === 0) {
      const [settled, latest] = [unsettled.settledAt, time + MAX_WAIT];
      await this.#update(row.name, { due: settled < latest ? settled : latest });
      return false;
    }
    if (unsettled !== undefined) page = (await pageAfter(questions, row, unsettled.index)) ?? page;
    // That a history was extended is no news: what is in it was before.
    const dated = page.changes.filter(
      ({ date, kind }) => kind !== 'HISTORY_EXTENDED' && parseInstant(date) > row.fromTime,
    );
    const changes = await standing(questions, row, dated);
    const cursor = page.next ?? row.cursor;
    const isFull = page.changes.length === MAX_CHANGES;
    const hasMore = cursor !== row.cursor;
    if (changes.length > 0) await this.#keep(row, { type: 'changes', changes }, { cursor, isFull });
    // What was recorded since counts as not read.
    else await this.#update(row.name, hasMore ? { cursor } : { readTo: end, readAt: time });
    return hasMore;
  }

  /** The feed may have a year of changes after a restore: the receiver is to read the present state. */
  async #tellGap(row: Notification, cursor: string): Promise<void> {
    const { name: notification, readAt } = row;
    this.#options.log.warn(
      { notification },
      'the feed does not have any more what a notification is to tell',
    );
    const [after, until] = [formatInstant(readAt), formatInstant(this.#now())];
    await this.#keep({ ...row, cursor }, { type: 'gap', after, until }, { cursor });
  }

  /** Keeps a message if watched domains have begun to fail, or recovered. @returns whether it does. */
  async #tellWatched(row: Notification): Promise<boolean> {
    if (row.watchFailures === null) return false;
    const { domains, failing } = await watchedNews(this.#options.prisma, row, row.watchFailures);
    if (domains.length > 0) await this.#keep(row, { type: 'watch', domains }, { failing });
    else if (failing.length < row.failing.length) await this.#update(row.name, { failing });
    return domains.length > 0;
  }

  /** Keeps a message before it is sent first, and goes on behind what it tells. */
  async #keep({ name, form, filter, cursor: after }: Notification, told: Told, then: Update): Promise<void> {
    const at = this.#now();
    const rest = `${this.#options.basePath}/api/v1`;
    const links = {
      changes: `${rest}/changes?${queryOf({ ...filter, after })}`,
      domain: `${rest}/domain/{domain}`,
    };
    const message = receiverOf(form).bodyOf({ notification: name, at, told, links });
    const kept = { messageId: newMessageId(), message, keptAt: at, isFull: false };
    await this.#update(name, { ...UNTRIED, ...kept, ...then });
  }

  async #send(row: Notification & KeptMessage): Promise<void> {
    const { name: notification, form, id: message } = row;
    const { signal } = this.#aborting;
    const answer = await receiverOf(form).send(row, this.#options, signal);
    if (signal.aborted) return;
    const { outcome, reason, stored } = deliveryOf(answer, row, this.#now());
    // What was received is not sent again because the database was lost meanwhile.
    const store = () => this.#update(notification, stored);
    while (!(await this.#attempt(notification, store)) && !this.#stopping.signal.aborted) await this.#pause();
    this.#metrics.attempts.inc({ notification, outcome });
    const [level, text] = LOGGED[outcome];
    this.#options.log[level]({ notification, message, reason }, text);
  }
}

/** Null where its cursor is not in the feed any more. */
async function pageAfter({ ask }: Questions, { filter, cursor: after }: Notification, first: number) {
  const parameters = { ...filter, first: String(first), after };
  try {
    return await ask<Page<RestChange>>({ operation: 'getChanges', parameters });
  } catch (error) {
    if (error instanceof PublicError && error.code === 'INVALID_CURSOR') return null;
    throw error;
  }
}

/** Once for each registry. */
function createMetrics(registry: Registry) {
  const registers = [registry];
  // All processes read the same.
  const shared = { labelNames: ['notification'], aggregator: 'max', registers } as const;
  return {
    attempts: new Counter({
      name: 'dms_notification_attempts_total',
      help: 'Attempts to send a message, by what became of it.',
      labelNames: ['notification', 'outcome'],
      registers,
    }),
    lag: new Gauge({
      ...shared,
      name: 'dms_notification_lag_seconds',
      help: 'For how long a message has not been received; 0: there is none.',
    }),
    isPaused: new Gauge({
      ...shared,
      name: 'dms_notification_paused',
      help: 'Whether a notification is paused: 1, or 0.',
    }),
  };
}
