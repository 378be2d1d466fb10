import { once } from 'node:events';
import { connect } from 'node:net';

const BYTE_EVERY = 1_000;
/** One may have 250 connections. */
const ADDRESSES = 4;

const BODY_FOLLOWS =
  'POST /graphql HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n';
const HEAD_UNFINISHED = 'GET /api/v1/domain/example.com HTTP/1.1\r\nhost: a\r\nx-slow: ';

/**
 * Clients that never finish a request: in turn one amid its header section, one amid its body, and one that
 * says nothing. None of them closes its connection.
 *
 * @param {number} port of the server, on loopback
 * @param {number} count
 */
export async function openSlowClients(port, count) {
  const clients = Array.from({ length: count }, (_, index) =>
    openSlowClient(port, index % 3, index % ADDRESSES),
  );
  await Promise.all(clients.map(({ connected }) => connected));
  return {
    open: () => clients.filter(({ socket }) => !socket.closed).length,
    /** How many bytes, one a second, the one has sent that has sent most. */
    sent: () => Math.max(...clients.map((client) => client.sent())),
    /** What each was answered, once the server has closed them all. */
    answers: () => Promise.all(clients.map(({ answer }) => answer)),
    destroy: () => {
      for (const { socket } of clients) socket.destroy();
    },
  };
}

/**
 * @param {number} port
 * @param {number} kind 0: says nothing; 1: never finishes its header section; 2: nor its body
 * @param {number} address which of their addresses it has
 */
function openSlowClient(port, kind, address) {
  const socket = connect({ port, host: '127.0.0.1', localAddress: `127.0.1.${1 + address}` });
  let answer = '';
  socket.setEncoding('latin1').on('data', (part) => {
    answer += part;
  });
  // A connection that the server resets is closed too.
  socket.on('error', () => {});
  if (kind > 0) socket.write(kind === 1 ? HEAD_UNFINISHED : BODY_FOLLOWS);
  let sent = 0;
  const dripping = setInterval(() => {
    if (kind === 0 || !socket.writable) return;
    socket.write('a');
    sent += 1;
  }, BYTE_EVERY);
  const answered = once(socket, 'close').then(() => {
    clearInterval(dripping);
    return answer;
  });
  return { socket, sent: () => sent, answer: answered, connected: once(socket, 'connect') };
}
