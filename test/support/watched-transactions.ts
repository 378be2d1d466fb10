import { PrismaPg } from '@prisma/adapter-pg';
import type { Pool, PoolClient, QueryConfig } from 'pg';
import { PrismaClient } from '../../src/database/generated/client.js';

interface Watcher {
  /** Called with each statement before it is sent, which it is not if this throws. */
  readonly before?: (text: string) => void;
  readonly after?: (text: string) => Promise<void>;
}

/** Prisma on a pool, the statements of whose transactions are watched. */
export function watchTransactions(pool: Pool, watcher: Watcher): PrismaClient {
  const watched: Pool = new Proxy(pool, {
    get: (target, key) =>
      key === 'connect' ? async () => watchedClient(await target.connect(), watcher) : memberOf(target, key),
  });
  return new PrismaClient({ adapter: new PrismaPg(watched) });
}

function watchedClient(client: PoolClient, { before, after }: Watcher): PoolClient {
  return new Proxy(client, {
    get: (target, key) =>
      key === 'query'
        ? async (statement: QueryConfig, values?: unknown[]) => {
            before?.(statement.text);
            const result = await target.query(statement, values);
            await after?.(statement.text);
            return result;
          }
        : memberOf(target, key),
  });
}

/** A function is the target's own: called on the proxy, it would connect by it, with a callback. */
function memberOf(target: object, key: string | symbol): unknown {
  const member: unknown = Reflect.get(target, key);
  return typeof member === 'function' ? member.bind(target) : member;
}
