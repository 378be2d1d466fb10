import type { Socket } from 'node:net';

/** Behaviours of servers that mean no good, for startRawServer: each does its worst to one connection. */
export type Behaviour = (socket: Socket) => unknown;

/** Waits for the first octets of the client, sends these, and closes. */
export function answersWith(octets: string | Buffer): Behaviour {
  const answer = typeof octets === 'string' ? Buffer.from(octets, 'latin1') : octets;
  return (socket) => socket.once('data', () => socket.end(answer));
}

/** Sends these before the client has said anything, and waits. */
export function greetsWith(octets: string): Behaviour {
  return (socket) => {
    socket.resume();
    socket.write(Buffer.from(octets, 'latin1'));
  };
}

export const saysNothing: Behaviour = (socket) => socket.resume();
export const closes: Behaviour = (socket) => socket.once('data', () => socket.end());
export const resets: Behaviour = (socket) => socket.once('data', () => socket.resetAndDestroy());

/** Sends the octets a few at a time, at this interval in milliseconds, again and again from the start. */
export function trickles(start: string, again: string, interval: number): Behaviour {
  return (socket) => {
    socket.once('data', () => {
      socket.write(Buffer.from(start, 'latin1'));
      const timer = setInterval(() => socket.write(Buffer.from(again, 'latin1')), interval);
      socket.once('close', () => clearInterval(timer));
    });
  };
}

/** Sends the start, and then the other octets for as long as the client takes them. */
export function sendsForEver(start: string, again: string): Behaviour {
  return (socket) => {
    socket.once('data', () => {
      socket.write(Buffer.from(start, 'latin1'));
      void pour(socket, Buffer.from(again.repeat(1 + 65_536 / again.length), 'latin1'));
    });
  };
}

async function pour(socket: Socket, octets: Buffer): Promise<void> {
  while (!socket.destroyed) await new Promise((written) => socket.write(octets, written));
}
