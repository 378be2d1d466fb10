import type { PoolClient } from 'pg';
import type { MergedChanges } from '../history/merge-changes.js';
import type { DomainState, HeaderChange, RecordedResponse, RecordStay } from '../history/state.js';
import { type DomainRow, storedTypes } from './rows.js';

/** What is to be written of one domain. */
export interface DomainChanges {
  readonly name: string;
  /** The row that the changes were found against; null for a domain that was not recorded. */
  readonly before: DomainRow | null;
  /** The state of `before`, and the one to write. */
  readonly stateBefore: DomainState | null;
  readonly state: DomainState;
  /** The least that its version may be now (`leastNextVersion`). */
  readonly version: bigint;
  readonly changes: MergedChanges;
  /** By how much column `history_octets` grows. */
  readonly octets: number;
}

/**
 * The database's clock, in microseconds: one clock for all processes that record. It is STABLE, so that it has one
 * value within a statement, and may be used to update sharded tables.
 */
const DATABASE_NOW = '(extract(epoch FROM statement_timestamp()) * 1000000)::bigint';

/**
 * Writes the rows of domains, each only if it is still as it was when the changes were found.
 *
 * The condition takes the place of a lock that would have to be held while the changes are found: it
 * costs nothing when there is no other writer, and an `UPDATE` works on sharded tables, where `SELECT …
 * FOR UPDATE` over several domains does not. The row stays locked until the transaction ends, which
 * guards the rows of the domain's records and headers too.
 *
 * The version is no less than the database's clock, so that a domain that is erased and recorded anew, or a database
 * restored from a backup, does not give a second state an old version. The time of recording is that clock's, and
 * never goes back, even where the clock does.
 *
 * @returns the names of the domains that were written. The others were written by another process.
 */
export async function writeDomainRows(
  client: PoolClient,
  domains: readonly DomainChanges[],
): Promise<Set<string>> {
  const inserted = await insertDomainRows(
    client,
    domains.filter(({ before }) => before === null),
  );
  const updated = await updateDomainRows(
    client,
    domains.filter(({ before }) => before !== null),
  );
  return new Set([...inserted, ...updated]);
}

async function insertDomainRows(client: PoolClient, domains: readonly DomainChanges[]): Promise<string[]> {
  if (domains.length === 0) {
    return [];
  }
  const { rows } = await client.query<{ name: string }>(
    `INSERT INTO domain (name, ${STATE_COLUMNS}, version, dns_types, recorded_at, history_octets)
     SELECT name, ${STATE_COLUMNS}, GREATEST(version, ${DATABASE_NOW}), dns_types::jsonb, ${DATABASE_NOW}, octets
       FROM unnest(${NEW_ARRAYS}, $16::bigint[]) AS new (${NEW_COLUMNS}, octets)
     ON CONFLICT (name) DO NOTHING
     RETURNING name`,
    [...newColumns(domains), domains.map(({ octets }) => octets)],
  );
  return rows.map(({ name }) => name);
}

async function updateDomainRows(client: PoolClient, domains: readonly DomainChanges[]): Promise<string[]> {
  if (domains.length === 0) {
    return [];
  }
  const { rows } = await client.query<{ name: string }>(
    `UPDATE domain AS d
        SET version = GREATEST(new.version, ${DATABASE_NOW}),
            recorded_at = GREATEST(d.recorded_at, ${DATABASE_NOW}), created = new.created, last_update = new.last_update,
            last_change = new.last_change, dns_first = new.dns_first, dns_latest = new.dns_latest,
            dns_types = COALESCE(new.dns_types::jsonb, d.dns_types),
            http_first = new.http_first, http_latest = new.http_latest, http_digest = new.http_digest,
            https_latest = new.https_latest, https_declined_first = new.https_declined_first,
            https_declined_latest = new.https_declined_latest,
            https_declined_count = new.https_declined_count,
            history_octets = d.history_octets + new.octets
       FROM unnest(${NEW_ARRAYS}, $16::bigint[], $17::bigint[])
         AS new (${NEW_COLUMNS}, octets, version_before)
      WHERE d.name = new.name AND d.version = new.version_before
      RETURNING d.name`,
    [
      ...newColumns(domains),
      domains.map(({ octets }) => octets),
      domains.map(({ before }) => before?.version),
    ],
  );
  return rows.map(({ name }) => name);
}

/** The columns of table `domain` that an observation may change, and the parameters that bring them. */
const STATE_COLUMNS = `created, last_update, last_change, dns_first, dns_latest,
                 http_first, http_latest, http_digest,
                 https_latest, https_declined_first, https_declined_latest, https_declined_count`;
const NEW_COLUMNS = `name, version, ${STATE_COLUMNS}, dns_types`;
const NEW_ARRAYS = `$1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
                   $8::bigint[], $9::bigint[], $10::text[],
                   $11::bigint[], $12::bigint[], $13::bigint[], $14::integer[], $15::text[]`;

/** One array for each of NEW_COLUMNS. */
function newColumns(domains: readonly DomainChanges[]): unknown[][] {
  return [
    domains.map(({ name }) => name),
    domains.map(({ version }) => version),
    domains.map(({ state }) => state.created),
    domains.map(({ state }) => state.lastUpdate),
    domains.map(({ state }) => state.lastChange),
    domains.map(({ state }) => state.everyType?.first ?? null),
    domains.map(({ state }) => state.everyType?.latest ?? null),
    domains.map(({ state }) => state.http?.first ?? null),
    domains.map(({ state }) => state.http?.latest ?? null),
    domains.map(({ state }) => state.http?.digest ?? null),
    domains.map(({ state }) => state.https?.latest ?? null),
    domains.map(({ state }) => state.https?.declined?.first ?? null),
    domains.map(({ state }) => state.https?.declined?.latest ?? null),
    domains.map(({ state }) => state.https?.declined?.count ?? null),
    // Null leaves the column as it is: most observations change nothing in it.
    domains.map(({ state, stateBefore }) =>
      state.types === stateBefore?.types ? null : storedTypes(state.types),
    ),
  ];
}

/** Writes the changes of domains whose rows writeDomainRows has written in the same transaction. */
export async function writeHistory(client: PoolClient, domains: readonly DomainChanges[]): Promise<void> {
  await insertStays(client, stays(domains, 'added'));
  await endStays(client, stays(domains, 'removed'));
  const headers = domains.flatMap(({ name, changes }) => changes.headers.map((change) => ({ name, change })));
  await insertHeaderChanges(client, headers);
  const responses = domains.flatMap(({ name, changes }) =>
    changes.responses.map((response) => ({ name, response })),
  );
  await insertResponses(client, responses);
}

interface DomainStay {
  readonly domain: string;
  readonly stay: RecordStay;
}

function stays(domains: readonly DomainChanges[], which: 'added' | 'removed'): DomainStay[] {
  return domains.flatMap(({ name, changes }) => changes[which].map((stay) => ({ domain: name, stay })));
}

async function insertStays(client: PoolClient, added: readonly DomainStay[]): Promise<void> {
  if (added.length === 0) {
    return;
  }
  await client.query(
    `INSERT INTO dns_record (domain, first_seen, type, position, host, class, rdata, source,
                             removed, last_seen, removed_source)
     SELECT domain, first_seen, type, position, host, class, rdata::json, source,
            removed, last_seen, removed_source
       FROM unnest($1::text[], $2::bigint[], $3::text[], $4::integer[], $5::text[], $6::text[], $7::text[],
                   $8::text[], $9::bigint[], $10::bigint[], $11::text[])
         AS new (domain, first_seen, type, position, host, class, rdata, source,
                 removed, last_seen, removed_source)`,
    [
      ...keyColumns(added),
      added.map(({ stay }) => stay.record.host),
      added.map(({ stay }) => stay.record.class),
      added.map(({ stay }) => stay.record.rdata),
      added.map(({ stay }) => stay.source),
      ...removalColumns(added),
    ],
  );
}

async function endStays(client: PoolClient, removed: readonly DomainStay[]): Promise<void> {
  if (removed.length === 0) {
    return;
  }
  await client.query(
    `UPDATE dns_record AS r
        SET removed = gone.removed, last_seen = gone.last_seen, removed_source = gone.removed_source
       FROM unnest($1::text[], $2::bigint[], $3::text[], $4::integer[], $5::bigint[], $6::bigint[], $7::text[])
         AS gone (domain, first_seen, type, position, removed, last_seen, removed_source)
      WHERE r.domain = gone.domain AND r.first_seen = gone.first_seen
        AND r.type = gone.type AND r.position = gone.position`,
    [...keyColumns(removed), ...removalColumns(removed)],
  );
}

function keyColumns(stays: readonly DomainStay[]): unknown[][] {
  return [
    stays.map(({ domain }) => domain),
    stays.map(({ stay }) => stay.firstSeen),
    stays.map(({ stay }) => stay.record.type),
    stays.map(({ stay }) => stay.position),
  ];
}

function removalColumns(stays: readonly DomainStay[]): unknown[][] {
  return [
    stays.map(({ stay }) => stay.removal?.removed ?? null),
    stays.map(({ stay }) => stay.removal?.lastSeen ?? null),
    stays.map(({ stay }) => stay.removal?.source ?? null),
  ];
}

async function insertHeaderChanges(
  client: PoolClient,
  headers: readonly { readonly name: string; readonly change: HeaderChange }[],
): Promise<void> {
  if (headers.length === 0) {
    return;
  }
  await client.query(
    `INSERT INTO header_change (domain, name, observed_at, present, value, source)
     SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::boolean[], $5::text[], $6::text[])`,
    [
      headers.map(({ name }) => name),
      headers.map(({ change }) => change.name),
      headers.map(({ change }) => change.observedAt),
      headers.map(({ change }) => change.kind !== 'gone'),
      headers.map(({ change }) => change.value),
      headers.map(({ change }) => change.source),
    ],
  );
}

async function insertResponses(
  client: PoolClient,
  responses: readonly { readonly name: string; readonly response: RecordedResponse }[],
): Promise<void> {
  if (responses.length === 0) {
    return;
  }
  await client.query(
    `INSERT INTO site_response (domain, observed_at, scheme, status, address)
     SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::integer[], $5::text[])`,
    [
      responses.map(({ name }) => name),
      responses.map(({ response }) => response.observedAt),
      responses.map(({ response }) => response.scheme),
      responses.map(({ response }) => response.status),
      responses.map(({ response }) => response.address),
    ],
  );
}
