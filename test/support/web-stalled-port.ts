import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';

const LISTENER = `
  const server = require('node:net').createServer();
  const [address, port] = process.argv.slice(1);
  server.listen({ host: address, port: Number(port), backlog: 1 }, () => console.log(server.address().port));
`;

/**
 * Opens a port that does not answer: a process listens there and is halted, and its queue is full, so that
 * the system drops what comes (Linux does; see listen(2) and tcp_abort_on_overflow in tcp(7)).
 */
export async function openStalledPort(address: string, port = 0) {
  const listener = spawn(process.execPath, ['-e', LISTENER, address, String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(listener.stdout, 'data');
  const chosen = Number(String(line));
  listener.kill('SIGSTOP');
  const queue = Array.from({ length: 6 }, () =>
    connect({ host: address, port: chosen }).on('error', () => undefined),
  );
  // More connections than fit: as many as fit are made, which the first one's event shows.
  await Promise.race(queue.map((socket) => once(socket, 'connect')));
  return {
    address,
    port: chosen,
    async close() {
      for (const socket of queue) socket.destroy();
      listener.kill('SIGKILL');
      await once(listener, 'close');
    },
  };
}
