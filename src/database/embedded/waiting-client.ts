import pg from 'pg';

type ConnectCallback = Parameters<pg.Client['connect']>[0];

/**
 * A class of clients for a pool, which wait until the database is ready before they connect: while the
 * embedded database is being started again, a query waits instead of failing.
 */
export function waitingClient(ready: () => Promise<void>): new () => pg.Client {
  return class extends pg.Client {
    override connect(): Promise<pg.Client>;
    override connect(callback: ConnectCallback): void;
    override connect(callback?: ConnectCallback): Promise<pg.Client> | undefined {
      if (callback === undefined) return ready().then(() => super.connect());
      ready().then(
        () => super.connect(callback),
        (error) => Reflect.apply(callback, undefined, [error]),
      );
      return undefined;
    }
  };
}
