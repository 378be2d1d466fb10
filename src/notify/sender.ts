import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Registry } from 'prom-client';
import type { PrismaClient } from '../database/generated/client.js';
import { PublicError } from '../model/errors.js';
import { formatInstant, type Instant, parseInstant } from '../model/instant.js';
import type { Logger } from '../telemetry/logging.js';
import type { ChangesSource } from './changes-source.js';
import { deliveryOf } from './delivery.js';
import type { Links, Told } from './messages.js';
import { createNotificationMetrics } from './metrics.js';
import {
  advance,
  endOfFeed,
  type Filter,
  type Held,
  holdNotification,
  keepMessage,
  listNotifications,
  type NewMessage,
  type Notification,
  readHeld,
  release,
  storeDelivery,
} from './notifications.js';
import type { Sending } from './receiver.js';
import { receiverOf } from './receivers.js';
import { countSettled, standing } from './settle.js';
import { watchedNews } from './watched.js';

export interface SenderOptions extends Sending {
  readonly prisma: PrismaClient;
  /** Called once there is a notification. */
  readonly openChanges: () => Promise<ChangesSource>;
  readonly basePath: string;
  readonly log: Logger;
  readonly registry: Registry;
  /** The wall clock. Those of all workers' machines should agree to a few seconds. */
  readonly now: () => Instant;
}

/** In milliseconds: how often it is looked for what is to be sent. */
const IDLE = 1_000;
/** In microseconds: for how long a process has a notification to itself. Each message extends it; none takes as long. */
const LEASE = 120_000_000n;
/** In microseconds: how often it is looked which watched domains fail. */
const WATCHED_EVERY = 10_000_000n;
/** In microseconds: after that it is looked again whether a change has settled. */
const LONGEST_WAIT = 60_000_000n;
/** In milliseconds: how long a sender that stops waits for what does not answer. */
const WITHOUT_ANSWER = 5_000;
/** How many changes a message has at most. */
const MOST_CHANGES = 100;

/** Sends messages until it is stopped. Any number of processes share the notifications. */
export class Sender {
  readonly #options: SenderOptions;
  readonly #metrics: ReturnType<typeof createNotificationMetrics>;
  readonly #lease = randomUUID();
  readonly #stopping = new AbortController();
  readonly #aborting = new AbortController();
  /** By the name of the notification. */
  readonly #active = new Map<string, Promise<unknown>>();
  readonly #looking: Promise<void>;
  /** When it looks at the watched domains next. */
  #nextWatched = 0n;
  #changes: Promise<ChangesSource> | undefined;
  readonly #failing = new Set<string>();

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#metrics = createNotificationMetrics(options.registry);
    this.#looking = this.#look();
  }

  /** Sends nothing more. @param grace for what is being sent, in milliseconds: it is sent again if it was not received. */
  async stop(grace: number): Promise<void> {
    this.#stopping.abort();
    const abort = setTimeout(() => this.#aborting.abort(), grace);
    const ended = this.#looking.then(() => Promise.all(this.#active.values()));
    // A mail server, and a database, may take longer than there is time.
    await Promise.race([ended, pause(grace + WITHOUT_ANSWER, undefined, { ref: false })]);
    clearTimeout(abort);
  }

  async #look(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      await this.#attempt('*', () => this.#startDue());
      await this.#pause();
    }
  }

  /** Waits for a while; it ends at once when the sender stops. */
  async #pause(): Promise<void> {
    await pause(IDLE, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }

  async #startDue(): Promise<void> {
    const { prisma, now } = this.#options;
    const rows = await listNotifications(prisma);
    const time = now();
    this.#metrics.looked(rows, time);
    if (rows.length === 0) return;
    const end = await endOfFeed(prisma);
    const looksAtWatched = time >= this.#nextWatched;
    if (looksAtWatched) this.#nextWatched = time + WATCHED_EVERY;
    for (const { name, paused, due, keptAt, readTo, lease, leasedUntil, watchFailures } of rows) {
      const isNew = keptAt !== null || readTo !== end || (watchFailures !== null && looksAtWatched);
      const isFree = leasedUntil <= time || lease === this.#lease;
      const isDue = paused === null && due <= time && isFree && isNew;
      if (!isDue || this.#active.has(name)) continue;
      const work = this.#attempt(name, () => this.#work({ name, lease: this.#lease }));
      this.#active.set(
        name,
        work.finally(() => this.#active.delete(name)),
      );
    }
  }

  /** Survives failures, and logs the first of several in a row, and the recovery. @returns whether it is done. */
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

  /** Sends for a notification until it is up to date, or has to wait. */
  async #work(held: Held): Promise<void> {
    const { prisma, now } = this.#options;
    if (!(await holdNotification(prisma, held, now(), now() + LEASE))) return;
    try {
      while (!this.#stopping.signal.aborted) {
        const row = await readHeld(prisma, held, now() + LEASE);
        if (row === null || row.due > now()) return;
        const { messageId: id, message: body } = row;
        if (id !== null && body !== null) await this.#send(held, row, id, body);
        else if (!(await this.#tellWatched(held, row)) && !(await this.#read(held, row))) return;
      }
    } finally {
      await release(prisma, held);
    }
  }

  /** Reads on, and keeps a message if there is something to tell. @returns whether there is more to do. */
  async #read(held: Held, row: Notification): Promise<boolean> {
    const { prisma, now } = this.#options;
    const time = now();
    // What is recorded while the page is read counts as not read.
    const readTo = await endOfFeed(prisma);
    let page = await this.#pageAfter(row);
    if (page === null) {
      await this.#tellGap(held, row);
      return true;
    }
    if (row.settle !== null) {
      const { count, next } = await countSettled(prisma, page.changes, row.readTo, time - row.settle);
      if (count === 0 && page.changes.length > 0) {
        // Watched domains are looked at meanwhile.
        const [settled, soon] = [next + row.settle, time + LONGEST_WAIT];
        await advance(prisma, held, { due: settled < soon ? settled : soon });
        return false;
      }
      if (count < page.changes.length) page = (await this.#pageAfter(row, count)) ?? page;
    }
    // That a history was extended is no news: what is in it was before.
    const dated = page.changes.filter(
      ({ date, kind }) => kind !== 'HISTORY_EXTENDED' && parseInstant(date) > row.fromTime,
    );
    const changes =
      row.settle === null
        ? dated
        : await standing(await this.#source(), dated, row.settle, filterOf(row.filter));
    const links = this.#linksOf(row, row.cursor);
    const isAll = page.next === row.cursor;
    const then = { cursor: page.next, isFull: page.changes.length === MOST_CHANGES };
    if (changes.length > 0) await this.#keep(held, row, { type: 'changes', changes, links }, then);
    else if (!isAll) await advance(prisma, held, { cursor: page.next });
    else if (readTo !== row.readTo) await advance(prisma, held, { readTo, readAt: time });
    return !isAll;
  }

  /** The page after the cursor; null where that is not in the feed any more. */
  async #pageAfter({ filter, cursor: after }: Notification, first = MOST_CHANGES) {
    const changes = await this.#source();
    try {
      return await changes.page({ ...filterOf(filter), first: String(first), after });
    } catch (error) {
      if (error instanceof PublicError && error.code === 'INVALID_CURSOR') return null;
      throw error;
    }
  }

  /** Keeps a message if watched domains have begun to fail, or recovered. @returns whether it does. */
  async #tellWatched(held: Held, row: Notification): Promise<boolean> {
    if (row.watchFailures === null) return false;
    const filter = filterOf(row.filter);
    const { domains, failing } = await watchedNews(
      this.#options.prisma,
      filter,
      row.watchFailures,
      row.failing,
    );
    if (domains.length === 0) return false;
    const links = this.#linksOf(row, row.cursor);
    await this.#keep(held, row, { type: 'watch', domains, links }, { failing, isFull: false });
    return true;
  }

  /** What is in the feed now may be a year of changes after a restore: the receiver is to read the present state. */
  async #tellGap(held: Held, row: Notification): Promise<void> {
    const { log, now } = this.#options;
    const cursor = await (await this.#source()).end(filterOf(row.filter));
    const after = formatInstant(row.readAt);
    const links = this.#linksOf(row, cursor);
    log.warn({ notification: row.name }, 'the feed does not have any more what a notification is to tell');
    await this.#keep(
      held,
      row,
      { type: 'gap', after, until: formatInstant(now()), links },
      { cursor, isFull: false },
    );
  }

  async #keep(
    held: Held,
    row: Notification,
    told: Told,
    then: Omit<NewMessage, 'body' | 'now'>,
  ): Promise<void> {
    const { prisma, now } = this.#options;
    const at = now();
    const body = receiverOf(row.form).bodyOf({ notification: row.name, at, told });
    await keepMessage(prisma, held, { body, now: at, ...then });
  }

  async #send(held: Held, row: Notification, id: string, body: string): Promise<void> {
    const { prisma, log, now } = this.#options;
    const { signal } = this.#aborting;
    const answer = await receiverOf(row.form).send({ ...row, id, body }, this.#options, signal);
    if (signal.aborted) return;
    const time = now();
    const delivery = deliveryOf(answer, {
      attempts: row.attempts,
      failingSince: row.failingSince ?? time,
      now: time,
    });
    // What was received is not sent again because the database was lost meanwhile.
    const store = () => storeDelivery(prisma, held, row, delivery, time);
    while (!(await this.#attempt(row.name, store)) && !this.#stopping.signal.aborted) await this.#pause();
    this.#metrics.attempted(row.name, delivery.kind);
    const line = { notification: row.name, message: id };
    if (delivery.kind === 'received') log.info(line, 'a message was received');
    else if (delivery.kind === 'retry')
      log.info({ ...line, reason: delivery.reason }, 'a message was not received');
    else log.warn({ ...line, reason: delivery.reason }, 'a notification is paused');
  }

  /** Where the changes of a message are read, and the histories of their domains. */
  #linksOf({ filter }: Notification, after: string): Links {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries({ ...filterOf(filter), after })) {
      for (const text of [value].flat()) query.append(name, text);
    }
    const rest = `${this.#options.basePath}/api/v1`;
    return { changes: `${rest}/changes?${query}`, domain: `${rest}/domain/{domain}` };
  }

  #source(): Promise<ChangesSource> {
    this.#changes ??= this.#options.openChanges();
    return this.#changes;
  }
}

/** As addNotification() has stored it. */
function filterOf(stored: Notification['filter']): Filter {
  return stored as Filter;
}
