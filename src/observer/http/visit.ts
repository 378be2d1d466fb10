import { connect, type Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { guardedLookup } from './guarded-lookup.js';
import { shakeHands } from './handshake.js';
import { Lifeline } from './lifeline.js';
import { readHead } from './read-head.js';
import { responseFields } from './response-fields.js';
import type { StopSwitch } from './stop-switch.js';
import { endpointText, hostField, type Target } from './target.js';
import { CutOffError, failed, outcomeOfError, type Step, type VisitOutcome } from './visit-outcome.js';

/** How every visit of a client is made. */
export interface VisitOptions {
  readonly userAgent: string;
  readonly ignoredHeaders: ReadonlySet<string>;
  readonly allowPrivate: boolean;
  readonly secureContext: SecureContext;
}

/** What ends a visit; times in milliseconds. */
export interface VisitLimits {
  /** For the connection to be accepted. */
  readonly connectTime: number;
  /** For everything. */
  readonly time: number;
  readonly stop: StopSwitch;
}

/**
 * Makes one connection to the target and reads the head of its answer to `GET /`. It never rejects, and
 * leaves neither socket nor timer behind.
 */
export async function visit(
  target: Target,
  options: VisitOptions,
  limits: VisitLimits,
): Promise<VisitOutcome> {
  if (limits.stop.stopped) return STOPPED;
  const lifeline = new Lifeline();
  const timers = startTimers(target, limits, lifeline);
  limits.stop.listener = () => lifeline.cut(new CutOffError(STOPPED));
  let step: Step = 'connect';
  try {
    const socket = await dial(target, options.allowPrivate, lifeline);
    clearTimeout(timers.connect);
    step = 'handshake';
    const stream = await secured(socket, target, options, lifeline);
    step = 'head';
    const fields = { Host: hostField(target), 'User-Agent': options.userAgent };
    const head = await readHead(stream, fields, lifeline);
    const headers = responseFields(head.fields, options.ignoredHeaders);
    return { kind: 'answered', status: head.status, headers };
  } catch (error) {
    return outcomeOfError(error, step, target);
  } finally {
    limits.stop.listener = undefined;
    clearTimeout(timers.connect);
    clearTimeout(timers.all);
    lifeline.release();
  }
}

const STOPPED = failed('stopped', 'the observation was stopped');

function startTimers(
  target: Target,
  limits: VisitLimits,
  lifeline: Lifeline,
): { readonly connect: NodeJS.Timeout; readonly all: NodeJS.Timeout } {
  const endpoint = endpointText(target);
  return {
    connect: setTimeout(() => {
      const failure = { code: 'timeout', message: `${endpoint} does not answer` } as const;
      lifeline.cut(new CutOffError({ kind: 'slow', failure }));
    }, limits.connectTime),
    all: setTimeout(() => {
      lifeline.cut(new CutOffError(failed('timeout', `no response from ${endpoint} in time`)));
    }, limits.time),
  };
}

/** The name that is dialled is the domain's, never an address: an address would pass the lookup by. */
async function dial(target: Target, allowPrivate: boolean, lifeline: Lifeline): Promise<Socket> {
  const socket = lifeline.hold(
    connect({
      host: target.domain,
      port: target.port,
      lookup: guardedLookup(target.address, allowPrivate),
      autoSelectFamily: false,
    }),
  );
  await lifeline.until(new Promise<void>((resolve) => socket.once('connect', resolve)));
  return socket;
}

async function secured(
  socket: Socket,
  { scheme, domain }: Target,
  { secureContext }: VisitOptions,
  lifeline: Lifeline,
): Promise<Socket> {
  return scheme === 'https' ? shakeHands(socket, domain, secureContext, lifeline) : socket;
}
