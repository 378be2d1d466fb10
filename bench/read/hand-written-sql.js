/**
 * The yardstick: node:http without a framework, and one prepared statement per request that builds the
 * whole body of Get domain inside PostgreSQL. No validation, limits, authentication, logging or
 * validators: what is left is the cost of the data.
 *
 * It was tuned as far as we could: the rows come sorted from their primary keys, one window gives the
 * neighbours, text is concatenated (json_build_object is slower, and puts spaces between the members).
 */

import { createServer } from 'node:http';
import pg from 'pg';

/**
 * @param {string} column microseconds since the epoch
 * @returns {string} the SQL expression of its timestamp (specification, 2.1)
 */
function timestamp(column) {
  return `to_char(timestamp 'epoch' + ${column} * interval '1 microsecond', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

const RECORDS = `
  SELECT string_agg(
           '{"data":{"host":' || to_json(host) || ',"class":' || to_json(class) || ',"type":' || to_json(type)
           || ',' || substr(rdata::text, 2) || ',"firstSeen":"' || ${timestamp('first_seen')}
           || CASE WHEN removed IS NULL THEN '","removed":null}'
                   ELSE '","removed":"' || ${timestamp('removed')} || '"}' END, ',')
    FROM (SELECT * FROM dns_record WHERE domain = $1 ORDER BY first_seen, type, position) AS records`;

const HEADERS = `
  SELECT string_agg(
           CASE WHEN old IS NULL
                THEN '{"name":' || to_json(name) || ',"value":' || newest || ',"history":[{"event":"created","date":"'
                ELSE '{"event":"updated","date":"' END
           || ${timestamp('observed_at')} || '","new":' || new || ',"old":' || coalesce(old, 'null')
           || CASE WHEN last THEN '}]}' ELSE '}' END, ',')
    FROM (SELECT name, observed_at, new, lag(new) OVER of_name AS old, last_value(new) OVER of_name AS newest,
                 lead(1) OVER of_name IS NULL AS last
            FROM (SELECT name, observed_at, to_json(value)::text AS new
                    FROM header_change
                   WHERE domain = $1 AND value IS NOT NULL
                   ORDER BY name, observed_at
                  OFFSET 0) AS changes
          WINDOW of_name AS (PARTITION BY name ORDER BY observed_at
                             ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)) AS items`;

const GET_DOMAIN = `
  SELECT '{"domain":' || to_json(name) || ',"created":"' || ${timestamp('created')}
         || '","lastUpdate":"' || ${timestamp('last_update')}
         || '","dnsRecords":[' || coalesce((${RECORDS}), '')
         || '],"httpHeaders":[' || coalesce((${HEADERS}), '') || ']}' AS body
    FROM domain
   WHERE name = $1`;

const PREFIX = '/api/v1/domain/';

const pool = new pg.Pool({
  connectionString: process.env['DATABASE_URL'],
  max: Number(process.env['POOL'] ?? 10),
});

/**
 * @param {string} path
 * @returns {Promise<string | undefined>}
 */
async function bodyOf(path) {
  if (!path.startsWith(PREFIX)) return undefined;
  const { rows } = await pool.query({
    name: 'get-domain',
    text: GET_DOMAIN,
    values: [path.slice(PREFIX.length)],
  });
  return rows[0]?.body;
}

const server = createServer(async ({ url = '' }, response) => {
  try {
    const body = await bodyOf(url);
    response.writeHead(body === undefined ? 404 : 200, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body ?? ''),
    });
    response.end(body);
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
});

server.listen(Number(process.env['PORT']), '127.0.0.1');
