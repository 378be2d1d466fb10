import type pg from 'pg';

export const SHARDS = 32;

/**
 * Gives a database what stands in for Citus 13, as far as this program uses it: the tables stay on the server. Each, or each of its
 * partitions, counts as a shard where a command runs on all of them. It needs a superuser.
 */
export async function standInForCitus(pool: pg.Pool): Promise<void> {
  await pool.query(`
    INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
      SELECT max(oid::bigint) + 1, 'citus', 10, 'public'::regnamespace, false, '13.0-1' FROM pg_extension;
    CREATE TABLE pg_dist_partition (logicalrelid regclass PRIMARY KEY, partkey text, colocated text);
    CREATE TABLE pg_dist_shard (logicalrelid regclass, shardid bigint);
    CREATE FUNCTION create_distributed_function(function_name regprocedure) RETURNS void LANGUAGE sql AS '';
    CREATE FUNCTION create_distributed_table(table_name regclass, distribution_column text,
                                             distribution_type text DEFAULT 'hash', colocate_with text DEFAULT 'default')
      RETURNS void LANGUAGE sql AS $$
        INSERT INTO pg_dist_partition VALUES (table_name, distribution_column, colocate_with);
        INSERT INTO pg_dist_shard SELECT table_name, number FROM generate_series(1, ${SHARDS}) AS number $$;
    CREATE FUNCTION truncate_local_data_after_distributing_table(function_name regclass) RETURNS void LANGUAGE sql AS '';
    CREATE FUNCTION run_command_on_shards(table_name regclass, command text)
      RETURNS TABLE (shardid bigint, success boolean, result text) LANGUAGE plpgsql AS $$
        DECLARE shard regclass;
        BEGIN
          FOR shard IN SELECT oid FROM pg_class
                        WHERE oid = table_name AND relkind <> 'p'
                           OR oid IN (SELECT relid FROM pg_partition_tree(table_name) WHERE isleaf) LOOP
            RETURN QUERY EXECUTE format('SELECT 1::bigint, true, (%s)::text', format(command, shard));
          END LOOP;
        END $$`);
}
