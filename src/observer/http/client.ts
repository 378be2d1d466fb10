import { validateHeaderValue } from 'node:http';
import { isIP } from 'node:net';
import type { Failure } from '../failure.js';
import { AddressTurns } from './address-turns.js';
import { createLenientContext } from './handshake.js';
import { SilentEndpoints } from './silent-endpoints.js';
import { StopSwitch } from './stop-switch.js';
import { endpointText, selectAddresses, type Target } from './target.js';
import { type Trial, tryAddresses } from './try-addresses.js';
import { type VisitOptions, visit } from './visit.js';
import { failed, type VisitOutcome } from './visit-outcome.js';

/** What a look at a domain's front page has shown. */
export type HttpAnswer =
  | {
      readonly kind: 'answered';
      readonly scheme: 'https' | 'http';
      /** Where the connection went. */
      readonly address: string;
      readonly status: number;
      /**
       * Lower-case names to trimmed values, those of one name joined by `, `; ignored ones are left out.
       * Values that are UTF-8 are read so, others as ISO 8859-1.
       */
      readonly headers: ReadonlyMap<string, string>;
    }
  | {
      readonly kind: 'failed';
      readonly failure: Failure;
      /** True: HTTPS was declined before the failure (see HttpClient.observe). */
      readonly httpsDeclined?: boolean;
    };

export interface HttpClientOptions {
  readonly httpsPort: number;
  readonly httpPort: number;
  /** In milliseconds, for the whole of one observation, both schemes together. */
  readonly deadline: number;
  /** The value of the User-Agent field. */
  readonly userAgent: string;
  /** Field names in lower case. */
  readonly ignoredHeaders: ReadonlySet<string>;
  /** Whether addresses that are not public may be connected to. */
  readonly allowPrivate: boolean;
  /**
   * How many connections one address gets at once; others wait, and their deadline with them. They wait no
   * longer where the address has fallen silent meanwhile.
   */
  readonly connectionsPerAddress: number;
}

/** Looks at the front pages of domains. */
export interface HttpClient {
  /**
   * Looks at a domain's front page once: `https://{domain}/`, or `http://{domain}/` where HTTPS is declined:
   * at each address that can be reached, its port refuses the connection or speaks no TLS. It never rejects,
   * and when it settles nothing of it is left.
   *
   * @param addresses The domain's A and AAAA addresses, as DNS answered them.
   * @param signal Ends it with the failure `stopped`.
   */
  observe(domain: string, addresses: readonly string[], signal?: AbortSignal): Promise<HttpAnswer>;
  /** Stops what is in hand and what is still to come. */
  close(): void;
}

/**
 * Makes a client.
 *
 * @throws TypeError for a User-Agent that cannot be a field's value.
 */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  validateHeaderValue('user-agent', options.userAgent);
  const visiting = { ...options, secureContext: createLenientContext() };
  const turns = new AddressTurns(options.connectionsPerAddress);
  const silent = new SilentEndpoints();
  const inHand = new Set<StopSwitch>();
  let closed = false;
  return {
    async observe(domain, addresses, signal) {
      const stop = new StopSwitch();
      const onAbort = () => stop.stop();
      if (closed || signal?.aborted === true) stop.stop();
      inHand.add(stop);
      signal?.addEventListener('abort', onAbort);
      try {
        const state = { options, visiting, turns, silent, stop, timeLeft: options.deadline };
        return await look(domain, addresses, state);
      } finally {
        signal?.removeEventListener('abort', onAbort);
        inHand.delete(stop);
      }
    },
    close() {
      closed = true;
      for (const stop of inHand) stop.stop();
    },
  };
}

/** What one observation goes on. */
interface Look {
  readonly options: HttpClientOptions;
  readonly visiting: VisitOptions;
  readonly turns: AddressTurns;
  readonly silent: SilentEndpoints;
  readonly stop: StopSwitch;
  /** In milliseconds. Only visits use it up. */
  timeLeft: number;
}

/** A connection may take this part of the deadline, so that a dead address leaves time for the next. */
const CONNECT_PART = 1 / 3;

async function look(domain: string, addresses: readonly string[], state: Look): Promise<HttpAnswer> {
  if (isIP(domain) !== 0) return failed('no-address', `${domain} is an address, not a domain`);
  const selected = selectAddresses(addresses, state.options.allowPrivate);
  if ('failure' in selected) return { kind: 'failed', failure: selected.failure };
  const secure = await lookBy('https', domain, selected.addresses, state);
  if (secure.kind !== 'declined') return answerOf('https', secure);
  const plain = answerOf('http', await lookBy('http', domain, selected.addresses, state));
  return plain.kind === 'failed' ? { ...plain, httpsDeclined: true } : plain;
}

function lookBy(
  scheme: 'https' | 'http',
  domain: string,
  addresses: readonly string[],
  state: Look,
): Promise<Trial> {
  const port = scheme === 'https' ? state.options.httpsPort : state.options.httpPort;
  return tryAddresses(addresses, (address) => visitInTurn({ scheme, domain, address, port }, state));
}

async function visitInTurn(target: Target, state: Look): Promise<VisitOutcome> {
  const release = await state.turns.take(target.address, state.stop);
  if (release === undefined) return failed('stopped', 'the observation was stopped');
  try {
    return await visitUnlessSilent(target, state);
  } finally {
    release();
  }
}

async function visitUnlessSilent(target: Target, state: Look): Promise<VisitOutcome> {
  const { silent, stop, options } = state;
  const endpoint = endpointText(target);
  const began = performance.now();
  if (silent.isSilent(endpoint, began)) {
    return { kind: 'slow', failure: { code: 'timeout', message: `${endpoint} has not answered of late` } };
  }
  const connectTime = options.deadline * CONNECT_PART;
  const time = state.timeLeft;
  const outcome = await visit(target, state.visiting, { connectTime, time, stop });
  const ended = performance.now();
  state.timeLeft = Math.max(0, time - (ended - began));
  const code = outcome.kind === 'answered' ? null : outcome.failure.code;
  // What came last of a domain's addresses may have had no time to answer in.
  if (code === 'timeout' && time >= connectTime) silent.noteSilence(endpoint, ended);
  else if (code !== 'timeout' && code !== 'stopped') silent.noteAnswer(endpoint);
  return outcome;
}

function answerOf(scheme: 'https' | 'http', trial: Trial): HttpAnswer {
  if (trial.kind !== 'answered') return { kind: 'failed', failure: trial.failure };
  const { address, status, headers } = trial;
  return { kind: 'answered', scheme, address, status, headers };
}
