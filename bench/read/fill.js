/**
 * Fills our tables with synthetic domains by set-based SQL: what the recorder would have written after
 * four observations of each domain, every type asked, every header changed each time. `dms verify`
 * finds nothing wrong with it.
 */

/** Names are of one length, so that a load script can build requests without counting bytes. */
export const NAME_LENGTH = 'd0000000.example'.length;

/**
 * @param {number} number
 * @returns {string} the name of a synthetic domain
 */
export function domainName(number) {
  return `d${String(number).padStart(7, '0')}.example`;
}

/** Microseconds since the epoch of the first of the four observations, the same time as in SQL. */
const FIRST = '(1709288430123456 + n * 1000003::bigint)';
const WEEK = '604800000000';

/** `n` is the domain's number, `name` its name. */
const DOMAINS = `SELECT n, 'd' || lpad(n::text, 7, '0') || '.example' AS name
                   FROM generate_series($1::int, $2::int) AS n`;

/** Ten records of six types; `o` is the order of the answer within the type. */
const RECORDS = `
  VALUES
    ('A', 0, '{"ip":"192.0.2.' || n % 100 || '"}'),
    ('A', 1, '{"ip":"198.51.100.' || n % 100 || '"}'),
    ('AAAA', 0, '{"ipv6":"2001:db8:0:1::' || to_hex(n % 9000 + 1) || '"}'),
    ('AAAA', 1, '{"ipv6":"2001:db8:0:2::' || to_hex(n % 9000 + 1) || '"}'),
    ('MX', 0, '{"pri":10,"target":"mail.' || name || '"}'),
    ('NS', 0, '{"target":"ns1.' || name || '"}'),
    ('NS', 1, '{"target":"ns2.' || name || '"}'),
    ('SOA', 0, '{"mname":"ns1.' || name || '","rname":"hostmaster.' || name || '","serial":' || 2024030100 + n % 90
               || ',"refresh":7200,"retry":3600,"expire":1209600,"minimum-ttl":300}'),
    ('TXT', 0, '{"txt":"site-verification=' || md5(name) || '","entries":["site-verification=' || md5(name) || '"]}'),
    ('TXT', 1, '{"txt":"v=spf1 mx -all","entries":["v=spf1 mx -all"]}')`;

/** Twelve headers with the values of the four observations, numbered from 0 by `k`. */
const HEADERS = `
  SELECT h.name AS header, k, h.value || ' ' || left(md5(d.name || k || h.name), 19) AS value
    FROM (VALUES
      ('cache-control', 'max-age=600'), ('content-language', 'en'), ('content-security-policy', 'default-src self'),
      ('content-type', 'text/html; charset=utf-8'), ('etag', 'W/5e1f-18d'), ('referrer-policy', 'same-origin'),
      ('server', 'nginx/1.24.0'), ('strict-transport-security', 'max-age=31536000'), ('vary', 'accept-encoding'),
      ('via', '1.1 edge.example'), ('x-frame-options', 'DENY'), ('x-request-id', '0f8fad5b-d9cb')
    ) AS h (name, value), generate_series(0, 3) AS k`;

/**
 * @param {string} text an SQL expression
 * @returns {string} the SQL expression of its digest, as the recorder keeps it
 */
function digest(text) {
  return `left(translate(encode(sha256(convert_to(${text}, 'UTF8')), 'base64'), '+/', '-_'), 22)`;
}

const INSERT_RECORDS = `
  INSERT INTO dns_record (domain, first_seen, type, position, host, class, rdata)
  SELECT d.name, ${FIRST}, r.type, r.o, d.name, 'IN', r.rdata::json
    FROM (${DOMAINS}) AS d, LATERAL (${RECORDS}) AS r (type, o, rdata)
   ORDER BY d.name, r.type, r.o`;

const INSERT_HEADERS = `
  INSERT INTO header_change (domain, name, observed_at, value)
  SELECT d.name, h.header, ${FIRST} + h.k * ${WEEK}, h.value
    FROM (${DOMAINS}) AS d, LATERAL (${HEADERS}) AS h
   ORDER BY d.name, h.header, h.k`;

const TYPES_OF_DOMAIN = `
  SELECT jsonb_object_agg(type, jsonb_build_object('digest', digest))
    FROM (SELECT type, ${digest(`string_agg(host || chr(10) || class || chr(10) || rdata || chr(10), '' ORDER BY position)`)} AS digest
            FROM dns_record WHERE domain = d.name GROUP BY type) AS types`;

const HEADERS_OF_DOMAIN = `
  SELECT ${digest(`'[' || string_agg('["' || name || '","' || value || '"]', ',' ORDER BY name) || ']'`)}
    FROM header_change WHERE domain = d.name AND observed_at = ${FIRST} + 3 * ${WEEK}`;

const OCTETS_OF_RECORDS =
  'SELECT sum(128 + octet_length(host) + octet_length(rdata::text)) FROM dns_record WHERE domain = d.name';

const OCTETS_OF_HEADERS =
  'SELECT sum(80 + octet_length(name) + 2 * octet_length(value)) FROM header_change WHERE domain = d.name';

const INSERT_DOMAINS = `
  INSERT INTO domain (name, version, recorded_at, created, last_update, last_change, dns_first, dns_latest,
                      dns_types, http_first, http_latest, http_digest, record_octets, header_octets)
  SELECT d.name, ${FIRST} + 3 * ${WEEK}, ${FIRST} + 3 * ${WEEK}, ${FIRST}, ${FIRST} + 3 * ${WEEK},
         ${FIRST} + 3 * ${WEEK}, ${FIRST}, ${FIRST} + 3 * ${WEEK}, (${TYPES_OF_DOMAIN}),
         ${FIRST}, ${FIRST} + 3 * ${WEEK}, (${HEADERS_OF_DOMAIN}), (${OCTETS_OF_RECORDS}), (${OCTETS_OF_HEADERS})
    FROM (${DOMAINS}) AS d
   ORDER BY d.name`;

/** So many domains at once keep the sorting in memory. */
const CHUNK = 5_000;

/**
 * Writes the domains number 1 to `count`.
 *
 * @param {import('pg').Client} client of a database with our schema, empty
 * @param {number} count
 * @returns {Promise<void>}
 */
export async function fill(client, count) {
  for (let first = 1; first <= count; first += CHUNK) {
    const range = [first, Math.min(first + CHUNK - 1, count)];
    for (const statement of [INSERT_RECORDS, INSERT_HEADERS, INSERT_DOMAINS])
      await client.query(statement, range);
  }
  await client.query('VACUUM ANALYZE');
}
