import type { Failure } from '../failure.js';
import type { DnsAnswer } from './answer.js';
import { failed } from './failed.js';
import { NOERROR, NXDOMAIN, REFUSED, SERVFAIL } from './header.js';
import type { NameServer } from './name-server.js';
import type { Question } from './question.js';
import { readAnswer } from './read-answer.js';
import type { Reply } from './reply.js';

/** RFC 1035, section 4.1.1; RFC 2136, section 2.2; RFC 6891, section 9; RFC 7873, section 8. */
const RCODE_NAMES: ReadonlyMap<number, string> = new Map([
  [1, 'FORMERR'],
  [SERVFAIL, 'SERVFAIL'],
  [4, 'NOTIMP'],
  [REFUSED, 'REFUSED'],
  [6, 'YXDOMAIN'],
  [7, 'YXRRSET'],
  [8, 'NXRRSET'],
  [9, 'NOTAUTH'],
  [10, 'NOTZONE'],
  [16, 'BADVERS'],
  [23, 'BADCOOKIE'],
]);

/** A negative answer without proof from a recursive server (RFC 2308): one question more decides. */
export interface BareAnswer {
  readonly kind: 'bare';
  readonly nameExists: boolean;
  /** What to report where no second answer says the same. */
  readonly failure: Failure;
}

/** What a reply says about the question. Truncated ones are those for which there is no other way. */
export function answerInReply(
  server: NameServer,
  question: Question,
  { header, message }: Extract<Reply, { kind: 'replied' }>,
): DnsAnswer | BareAnswer {
  if (header.rcode !== NOERROR && header.rcode !== NXDOMAIN) return rcodeFailure(server, header.rcode);
  if (header.isTruncated) {
    return failed('truncated', `the answer of ${server.text} does not fit into a message over TCP`);
  }
  const reading = readAnswer(question, header, message);
  switch (reading.kind) {
    case 'answered':
      return reading;
    case 'bare': {
      const message = `${server.text} denies the records without proof, and no second answer says the same`;
      return { ...reading, failure: { code: 'unproven', message } };
    }
    case 'rcode':
      return rcodeFailure(server, reading.rcode);
    case 'no-evidence':
      return { ...failed(reading.code, `${server.text} ${reading.reason}`), aliases: reading.aliases };
  }
}

function rcodeFailure(server: NameServer, rcode: number): DnsAnswer {
  const code = rcode === SERVFAIL ? 'servfail' : rcode === REFUSED ? 'refused' : 'rcode';
  return failed(code, `${RCODE_NAMES.get(rcode) ?? `RCODE ${rcode}`} from ${server.text}`);
}
