import { connect } from 'node:net';
import { codeOf } from './data-folder.js';

/**
 * Whether a process listens on a Unix socket. The kernel answers for a process that is busy.
 *
 * @throws the socket's error where this user may not connect.
 */
export function answers(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error) => {
      const code = codeOf(error);
      if (code === 'ECONNREFUSED' || code === 'ENOENT') resolve(false);
      // A full queue of connections: someone lives there, and is busy.
      else if (code === 'EAGAIN') resolve(true);
      else reject(error);
    });
  });
}
