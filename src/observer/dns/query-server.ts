import type { Failed } from '../failure.js';
import type { BareAnswer, DnsAnswer } from './answer.js';
import { readAnswer } from './evidence.js';
import { exchangeByTcp, exchangeByUdp } from './exchange.js';
import { FORMERR, type Header, NOERROR, NOTIMP, NXDOMAIN, type Question, type Response } from './message.js';
import type { NameServer } from './name-server.js';

/** One try of a query at a server. */
export interface ServerQuery {
  readonly server: NameServer;
  readonly question: Question;
  /** For all of it, in milliseconds. */
  readonly timeout: number;
  readonly signal: AbortSignal;
}

/**
 * Queries a server over UDP, without EDNS if it does not know it, and over TCP if the response is truncated.
 *
 * @param onResult has the result of each exchange.
 */
export async function queryServer(
  { server, question, timeout, signal }: ServerQuery,
  onResult: (result: Response | Failed) => void = () => undefined,
): Promise<DnsAnswer | BareAnswer> {
  const sent = performance.now();
  let withEdns = true;
  let overTcp = false;
  for (;;) {
    const timeLeft = Math.max(Math.ceil(sent + timeout - performance.now()), 1);
    const exchange = { server, question, withEdns, timeout: timeLeft, signal };
    const result = await (overTcp ? exchangeByTcp(exchange) : exchangeByUdp(exchange));
    onResult(result);
    if (result.kind === 'failed') return result;
    if (withEdns && isWithoutEdns(result.header)) withEdns = false;
    else if (!overTcp && isTruncated(result.header)) overTcp = true;
    else return readAnswer(server.text, question, result);
  }
}

/** How servers respond that do not know EDNS (RFC 6891, section 7). */
function isWithoutEdns({ rcode }: Header): boolean {
  return rcode === FORMERR || rcode === NOTIMP;
}

/** Truncated errors stay errors over TCP. */
function isTruncated({ isTruncated, rcode }: Header): boolean {
  return isTruncated && (rcode === NOERROR || rcode === NXDOMAIN);
}
