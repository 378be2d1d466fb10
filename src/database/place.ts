import { resolve } from 'node:path';
import pg from 'pg';

/** Where the embedded database is, for people: one phrase. */
export function embeddedPlace(dataDirectory: string): string {
  return `embedded, in ${resolve(dataDirectory)}`;
}

/**
 * Where a database on a server is, for people: its name and the server's address, without user and
 * password.
 *
 * @param databaseUrl that can be connected to.
 */
export function serverPlace(databaseUrl: string): string {
  // It is never connected: it only tells what pg reads in the address.
  const { database, host, port } = new pg.Client({ connectionString: databaseUrl });
  return `PostgreSQL ${database} at ${host.includes(':') ? `[${host}]` : host}:${port}`;
}
