import { createServer, type Server, type Socket } from 'node:net';

/** How long, in milliseconds, the first user may take to come: the process that started this one. */
const ARRIVAL = 5000;

/**
 * The owner's side of its users' presence: it counts them, tells them when the database is ready, and
 * knows when all have left.
 */
export class Users {
  readonly #present = new Set<Socket>();
  readonly #server: Server = createServer((socket) => this.#welcome(socket));
  #line: string | null = null;
  #grace = 0;
  #visited = false;
  #hurried = false;
  #leave: (() => void) | null = null;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param path of the socket, short enough to bind.
   * @throws where the file system holds no sockets.
   */
  listen(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(path, () => resolve());
    });
  }

  /** Writes the line to every user, present and to come. */
  announce(line: string): void {
    this.#line = line;
    for (const socket of this.#present) socket.write(line);
  }

  /** Tells nobody anything from now on: who comes waits until the process has ended, and looks again. */
  fallSilent(): void {
    this.#line = null;
  }

  /** Settles once nobody has been here for `grace` milliseconds, or at once after hurry(). */
  allLeft(grace: number): Promise<void> {
    this.#grace = this.#hurried ? 0 : grace;
    return new Promise((resolve) => {
      this.#leave = resolve;
      this.#countDown();
    });
  }

  /** Lets that wait end as soon as nobody is here. */
  hurry(): void {
    this.#hurried = true;
    this.#grace = 0;
    this.#countDown();
  }

  #welcome(socket: Socket): void {
    this.#visited = true;
    this.#present.add(socket);
    this.#countDown();
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      this.#present.delete(socket);
      this.#countDown();
    });
    // Only a socket that is read notices that the other side has closed.
    socket.resume();
    if (this.#line !== null) socket.write(this.#line);
  }

  #countDown(): void {
    clearTimeout(this.#timer);
    if (this.#leave !== null && this.#present.size === 0) {
      const patience = this.#visited || this.#hurried ? this.#grace : Math.max(this.#grace, ARRIVAL);
      this.#timer = setTimeout(this.#leave, patience);
    }
  }
}
