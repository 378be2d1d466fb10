import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import { Webhook } from 'standardwebhooks';
import { startReceiver } from '../support/receiver.js';

/** What a receiver does with a message when it comes first. Later it takes it. */
export type Fault = 'fails' | 'hangs' | 'is busy' | 'is gone' | 'is slow';

/** Which messages meet a fault: the one after so many that were taken at once, each time. */
export interface Faults {
  readonly every: number;
  /** One after the other, again and again. */
  readonly kinds: readonly Fault[];
}

/** A message that was taken again. Times are those of the monotonic clock, in milliseconds. */
export interface Double {
  readonly id: string;
  readonly firstAt: number;
  readonly at: number;
}

/** In milliseconds: how long a slow receiver takes. The sender waits for ten seconds. */
const SLOW = 2_000;

/** What has come to a receiver, and what must not have come. */
export class Inbox {
  /** What the messages told that were taken, each message once, in the order in which they were taken. */
  readonly told: string[] = [];
  readonly doubles: Double[] = [];
  /** What breaks a promise of notifications. */
  readonly wrong: string[] = [];
  /** How many messages met each fault. */
  readonly met = new Map<Fault, number>();
  readonly #faults: Faults;
  readonly #takenAt = new Map<string, number>();
  readonly #digests = new Map<string, string>();
  #latest: string | undefined;

  constructor(faults: Faults) {
    this.#faults = faults;
  }

  /** Notes a message. @returns what the receiver does; undefined: it takes it. */
  arrived(id: string, body: string, told: readonly string[]): Fault | undefined {
    const digest = createHash('sha256').update(body).digest('base64');
    if ((this.#digests.get(id) ?? digest) !== digest) this.wrong.push(`${id} has another body`);
    const fault = this.#digests.has(id) ? undefined : this.#nextFault();
    if (id !== this.#latest) {
      if (this.#digests.has(id)) this.wrong.push(`${id} came again after a later one`);
      if (this.#latest !== undefined && !this.#takenAt.has(this.#latest))
        this.wrong.push(`${id} came before ${this.#latest} was received`);
    }
    this.#digests.set(id, digest);
    this.#latest = id;
    if (fault === undefined || fault === 'is slow') this.#take(id, told);
    return fault;
  }

  #nextFault(): Fault | undefined {
    const { every, kinds } = this.#faults;
    const count = this.#digests.size + 1;
    const kind = count % every === 0 ? kinds[(count / every - 1) % kinds.length] : undefined;
    if (kind !== undefined) this.met.set(kind, (this.met.get(kind) ?? 0) + 1);
    return kind;
  }

  #take(id: string, told: readonly string[]): void {
    const at = performance.now();
    const firstAt = this.#takenAt.get(id);
    if (firstAt !== undefined) this.doubles.push({ id, firstAt, at });
    else {
      this.#takenAt.set(id, at);
      this.told.push(...told);
    }
  }
}

/** A receiver on loopback. */
export interface FaultyReceiver {
  readonly inbox: Inbox;
  /** Where its messages go to, or what sends its mail. */
  readonly url: string;
  close(): Promise<void>;
}

const RESPONSES: Readonly<Record<Fault, (response: ServerResponse) => void>> = {
  fails: (response) => response.writeHead(500).end(),
  hangs: () => {},
  'is busy': (response) => response.writeHead(429, { 'retry-after': '1' }).end(),
  'is gone': (response) => response.writeHead(410).end(),
  'is slow': (response) => void setTimeout(() => response.writeHead(200).end(), SLOW),
};

/** Starts a receiver of webhooks; `told` has the ids of changes. @param secret of the signatures, once it is known. */
export async function startFaultyReceiver(faults: Faults, secret: () => string): Promise<FaultyReceiver> {
  const inbox = new Inbox(faults);
  const receiver = await startReceiver((response) => {
    const message = receiver.received.pop();
    if (message === undefined) return;
    try {
      // The fields of a message are there once each.
      const headers = message.headers as Record<string, string>;
      const { type, data } = new Webhook(secret()).verify(message.body, headers) as {
        readonly type: string;
        readonly data: { readonly changes: readonly { readonly id: string }[] };
      };
      if (type !== 'changes') throw new Error(`a message of the type ${type}`);
      const ids = data.changes.map(({ id }) => id);
      const fault = inbox.arrived(headers['webhook-id'] ?? '', message.body, ids);
      if (fault === undefined) response.writeHead(204).end();
      else RESPONSES[fault](response);
    } catch (error) {
      inbox.wrong.push(String(error));
      response.writeHead(400).end();
    }
  });
  return { inbox, url: receiver.url, close: receiver.close };
}

/** Starts a mail server; `told` has the lines about changes. */
export async function startFaultyMailServer(faults: Faults): Promise<FaultyReceiver> {
  const inbox = new Inbox(faults);
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    async onData(stream, _session, done) {
      // A sender that is killed breaks its connection off: no mail has come.
      const mail = await text(stream).catch(() => undefined);
      if (mail === undefined) return;
      const end = mail.indexOf('\r\n\r\n');
      const id = /^Message-ID: <(msg_[\w-]+)@/m.exec(mail.slice(0, end))?.[1];
      const body = mail.slice(end);
      const lines = body.split('\r\n').filter((line) => /: .* (?:added|removed)$/.test(line));
      const fault = id === undefined ? 'fails' : inbox.arrived(id, body, lines);
      if (id === undefined) inbox.wrong.push(`a mail without an id: ${mail.slice(0, end)}`);
      if (fault === 'is slow') setTimeout(() => done(null), SLOW);
      else done(fault === undefined ? null : Object.assign(new Error('busy'), { responseCode: 451 }));
    },
  });
  server.on('error', () => {});
  await new Promise<void>((listening) => {
    server.listen(0, '127.0.0.1', () => listening());
  });
  // A server on a port has such an address.
  const { port } = server.server.address() as AddressInfo;
  return {
    inbox,
    url: `smtp://127.0.0.1:${port}?from=dms@service.example`,
    close: () =>
      new Promise<void>((closed) => {
        server.close(closed);
      }),
  };
}
