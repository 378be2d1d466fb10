import { type DnsQuery, encodeResponse, FLAGS } from './dns-message.js';
import { nameOctets } from './dns-octets.js';

export interface TestQuestion {
  /** Lower case, without its final dot. */
  readonly name: string;
  readonly type: string;
  readonly transport: 'udp' | 'tcp';
  readonly query: DnsQuery;
  readonly octets: Buffer;
  /** The message that the zone has for it. */
  readonly answer: () => Buffer;
}

/** What is sent back; an empty object is silence, and the TCP connection stays open. */
export interface TestReply {
  /** Messages, in their order; over TCP each with its length before it. */
  readonly messages?: readonly Buffer[];
  /** TCP only: octets as they are. */
  readonly octets?: Buffer;
  /** TCP only: ends the connection thereafter. */
  readonly end?: boolean;
}

/** What a server does with a question about a name; it may take its time. */
export type Behaviour = (question: TestQuestion) => TestReply | Promise<TestReply>;

export const silence: Behaviour = () => ({});

/** The zone's answer, changed by a function that may do anything with the octets. */
export function changed(change: (message: Buffer, question: TestQuestion) => Buffer): Behaviour {
  return (question) => ({ messages: [change(Buffer.from(question.answer()), question)] });
}

/** An RCODE without records: 1 FORMERR, 2 SERVFAIL, 4 NOTIMP, 5 REFUSED. */
export function rcode(number: number): Behaviour {
  return ({ query }) => ({ messages: [encodeResponse(query, { rcode: number, flags: 0 })] });
}

export const wrongId: Behaviour = changed((message) => {
  message.writeUInt16BE(message.readUInt16BE(0) ^ 0x5555, 0);
  return message;
});

/** The zone's answer, but with another name in the question. */
export function otherName(name: string): Behaviour {
  return ({ query, answer }) => {
    const message = answer();
    const rest = message.subarray(12 + query.name.length);
    return { messages: [Buffer.concat([message.subarray(0, 12), nameOctets(name), rest])] };
  };
}

/** Over UDP that the answer is cut (TC), and over TCP what another behaviour does. */
export function truncated(overTcp: Behaviour): Behaviour {
  const cut = changed((message) => {
    message.writeUInt16BE(message.readUInt16BE(2) | FLAGS.TC, 2);
    return message;
  });
  return (question) => (question.transport === 'udp' ? cut(question) : overTcp(question));
}

/** A server that does not know EDNS: FORMERR (1) or NOTIMP (4) to it, and otherwise the zone's answer. */
export function rejectsEdns(number: number): Behaviour {
  return (question) => (question.query.hasEdns ? rcode(number)(question) : { messages: [question.answer()] });
}

/** Octets as they are, under the question's id where there is room for it. */
export function octets(message: Buffer): Behaviour {
  return ({ query }) => {
    const copy = Buffer.from(message);
    if (copy.length >= 2) copy.writeUInt16BE(query.id, 0);
    return { messages: [copy] };
  };
}
