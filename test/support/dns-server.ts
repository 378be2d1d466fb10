import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server as TcpServer, type Socket as TcpSocket } from 'node:net';
import { canonicalType, typeNumber } from '../../src/model/dns-types.js';
import { MasterText } from '../../src/model/master-text.js';
import { rdataOctets } from '../../src/model/rdata-text.js';
import type { Behaviour, TestReply } from './dns-behaviours.js';
import { type DnsQuery, encodeResponse, FLAGS, type ResponseParts, readQuery } from './dns-message.js';
import { keyName, nameKey, nameOctets, uint16 } from './dns-octets.js';
import { Zone } from './dns-zone.js';

const LARGEST_TCP_MESSAGE = 65_535;
/** As src/observer/dns/resolver-checks.ts makes them. */
const RANDOM_NAME = /^[a-z]{20,}\.(com|net)$/;

/**
 * Makes answers for names without number: rdata of the name as master files have it, names in it absolute; none: there
 * are no such records; null: there is no such name; undefined: the zone answers.
 *
 * @param name Lower case, without its final dot; dots and backslashes in labels escaped.
 */
type Generator = (name: string, type: string) => readonly string[] | null | undefined;

export interface DnsTestServerOptions {
  /** A master file; without one every question is rejected. See setZone. */
  readonly zone?: string;
  /** Of the loopback network, IPv6 too. */
  readonly address?: string;
  /** Of both transports; 0: a free one. */
  readonly port?: number;
}

/**
 * Starts an authoritative DNS server for tests, which listens on one port over UDP and TCP.
 *
 * It answers NXDOMAIN and NODATA with the zone's SOA, follows CNAMEs within its zones, refers at delegations (NS below
 * a zone's apex), rejects names outside its zones, and cuts what is larger than the client takes over UDP (512 octets,
 * or what EDNS says) or than 65,535 octets over TCP: it then sends TC and no records. Each zone needs its SOA. There
 * are no wildcards; recursion is not available (RA is 0).
 */
export async function startDnsServer(options: DnsTestServerOptions = {}) {
  const { zone = '', address = '127.0.0.1', port = 0 } = options;
  for (;;) {
    const udp = createSocket({ type: address.includes(':') ? 'udp6' : 'udp4' });
    udp.bind(port, address);
    await once(udp, 'listening');
    const tcp = createServer({ noDelay: true });
    const listening = once(tcp.listen(udp.address().port, address), 'listening');
    const isFree = await listening.then(() => true).catch(() => false);
    if (isFree) return serveDns(udp, tcp, zone);
    udp.close();
    if (port !== 0) throw new Error(`Port ${port} of ${address} is taken.`);
  }
}

export type DnsTestServer = ReturnType<typeof serveDns>;

function serveDns(udp: UdpSocket, tcp: TcpServer, zoneText: string) {
  const connections = new Set<TcpSocket>();
  const behaviours = new Map<string, Behaviour>();
  const asked = new Map<string, number>();
  let zone = new Zone(zoneText);
  let [generator, invented]: (Generator | undefined)[] = [];
  let isClosed = false;

  function answerOf(query: DnsQuery, name: string, type: string, transport: 'udp' | 'tcp'): Buffer {
    const generated = generator?.(name, type);
    const parts =
      generated === undefined ? zone.answer(query.name, query.type) : generatedParts(query, type, generated);
    const response = encodeResponse(query, parts);
    if (response.length <= (transport === 'udp' ? query.payloadSize : LARGEST_TCP_MESSAGE)) return response;
    return encodeResponse(query, { rcode: parts.rcode, flags: parts.flags | FLAGS.TC });
  }

  /** Plain questions are answered at once; a behaviour may take its time. */
  function take(octets: Buffer, transport: 'udp' | 'tcp', send: (reply: TestReply) => void): void {
    const query = readQuery(octets);
    if (query === undefined) return;
    const key = nameKey(query.name);
    const type = canonicalType(`TYPE${query.type}`) ?? `TYPE${query.type}`;
    const name = keyName(key);
    if (RANDOM_NAME.test(name)) {
      const parts = generatedParts(query, type, invented?.(name, type) ?? null);
      send({ messages: [encodeResponse(query, parts)] });
      return;
    }
    asked.set(`${name} ${type}`, (asked.get(`${name} ${type}`) ?? 0) + 1);
    const answer = () => answerOf(query, name, type, transport);
    const keys = [`${key} ${type}`, `${key} *`, `* ${type}`, '* *'];
    const behaviour = keys.map((each) => behaviours.get(each)).find((found) => found !== undefined);
    if (behaviour === undefined) send({ messages: [answer()] });
    else
      void Promise.resolve(behaviour({ name, type, transport, query, octets, answer })).then((reply) => {
        if (!isClosed) send(reply);
      });
  }

  const count = (start: string) =>
    [...asked].reduce((sum, [key, times]) => sum + (key.startsWith(start) ? times : 0), 0);

  /** Ends the TCP side alone: the port rejects connections from now on. */
  async function stopTcp(): Promise<void> {
    for (const socket of connections) socket.destroy();
    if (tcp.listening) await new Promise<void>((resolve) => tcp.close(() => resolve()));
  }

  udp.on('message', (message, { address, port }) => {
    const send = (octets: Buffer) => udp.send(octets, port, address, () => undefined);
    take(message, 'udp', (reply) => reply.messages?.forEach(send));
  });
  tcp.on('connection', (socket) => {
    let received = Buffer.alloc(0);
    connections.add(socket);
    socket.on('close', () => connections.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const end = 2 + received.readUInt16BE(0);
        take(received.subarray(2, end), 'tcp', (reply) => sendByTcp(socket, reply));
        received = received.subarray(end);
      }
    });
  });
  const { address, port } = udp.address();
  return {
    address,
    port,
    /** Replaces the zone, or zones: a master file as dns-zone-file.ts reads it. */
    setZone(text: string): void {
      zone = new Zone(text);
    },
    /** Answers by a function, which is asked before the zone; undefined ends it. */
    generate(by: Generator | undefined): void {
      generator = by;
    },
    /** Undefined: it answers as the zone says again. @param name `*`: all that have no behaviour of their own. */
    behave(name: string, behaviour: Behaviour | undefined, type = '*'): void {
      const key = `${name === '*' ? '*' : nameKey(nameOctets(name))} ${type}`;
      if (behaviour === undefined) behaviours.delete(key);
      else behaviours.set(key, behaviour);
    },
    /**
     * Answers for the random names by which the service finds resolvers that invent addresses. Otherwise these do not
     * exist, and they count as no questions.
     */
    invent(by: Generator | undefined): void {
      invented = by;
    },
    /** How often a name was asked for, over both transports: for one type, or for all. */
    asked(name: string, type?: string): number {
      const key = keyName(nameKey(nameOctets(name)));
      return type === undefined ? count(`${key} `) : (asked.get(`${key} ${type}`) ?? 0);
    },
    get questions() {
      return count('');
    },
    forgetQuestions: () => asked.clear(),
    get connections() {
      return connections.size;
    },
    stopTcp,
    async close(): Promise<void> {
      if (isClosed) return;
      isClosed = true;
      await Promise.all([new Promise<void>((resolve) => udp.close(resolve)), stopTcp()]);
    },
  };
}

function sendByTcp(socket: TcpSocket, reply: TestReply): void {
  if (socket.destroyed) return;
  for (const message of reply.messages ?? []) socket.write(Buffer.concat([uint16(message.length), message]));
  if (reply.octets !== undefined) socket.write(reply.octets);
  if (reply.end === true) socket.end();
}

const SOA = 6;
const NXDOMAIN = 3;

function generatedParts(query: DnsQuery, type: string, texts: readonly string[] | null): ResponseParts {
  const record = (of: string, text: string) => ({
    owner: Buffer.from(query.name),
    type: typeNumber(of) ?? SOA,
    ttl: 300,
    rdata: rdataOctets(of, new MasterText(text)),
  });
  const answers = (texts ?? []).map((text) => record(type, text));
  const soa = record('SOA', 'ns.invalid. hostmaster.invalid. 1 7200 900 1209600 300');
  const authorities = answers.length === 0 ? [soa] : [];
  return { rcode: texts === null ? NXDOMAIN : 0, flags: FLAGS.AA, answers, authorities };
}
