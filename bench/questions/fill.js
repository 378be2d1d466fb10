/** The domains of providers, whose hosts many domains have in common. */
export const PROVIDERS = Array.from({ length: 60 }, (_, number) => `provider${number}.example`);

/** `n` is the domain's number, `name` its name, `p` the number of its provider: the first ones have the most. */
const DOMAINS = `
  SELECT n, (ARRAY['shop', 'blog', 'news', 'app', 'mail', 'cdn', 'wiki', 'home', 'data', 'club'])[n % 10 + 1] || n
            || (ARRAY['.com', '.com', '.com', '.net', '.org', '.de', '.co.uk'])[n % 7 + 1] AS name,
         floor(power(random(), 3) * 60)::int AS p, random() AS r
    FROM generate_series($1::int, $2::int) AS n`;

/** Microseconds since the epoch: 2024-01-01, and some time later for each domain. */
const FIRST = '(1704067200000000 + n * 10000003::bigint)';

/** Every tenth domain moved to another address half a year later. */
const MOVED = '15552000000000';

const RECORDS = `
  VALUES
    ('A', 0, CASE WHEN r < 0.1 THEN '{"ip":"198.18.0.1"}' ELSE '{"ip":"10.' || n % 4 || '.' || (n / 4) % 250 || '.' || (n / 1000) % 250 || '"}' END),
    ('A', 1, '{"ip":"198.19.' || n % 50 || '.' || n % 250 || '"}'),
    ('AAAA', 0, '{"ipv6":"2001:db8:0:1::' || to_hex(n % 60000 + 1) || '"}'),
    ('AAAA', 1, '{"ipv6":"2001:db8:0:2::' || to_hex(n % 9000 + 1) || '"}'),
    ('MX', 0, '{"pri":10,"target":"mx' || n % 5 || '.provider' || p || '.example"}'),
    ('NS', 0, '{"target":"ns1.provider' || p || '.example"}'),
    ('NS', 1, '{"target":"ns2.provider' || p || '.example"}'),
    ('SOA', 0, '{"mname":"ns1.provider' || p || '.example","rname":"hostmaster.' || name || '","serial":' || 2024030100 + n % 90
               || ',"refresh":7200,"retry":3600,"expire":1209600,"minimum-ttl":300}'),
    ('TXT', 0, '{"txt":"site-verification=' || n || '","entries":["site-verification=' || n || '"]}'),
    ('TXT', 1, '{"txt":"v=spf1 include:provider' || p || '.example -all","entries":["v=spf1 include:provider' || p || '.example -all"]}')`;

const INSERT_RECORDS = `
  INSERT INTO dns_record (domain, first_seen, type, position, host, class, rdata, last_seen, removed)
  SELECT name, ${FIRST}, type, o, name, 'IN', rdata::json,
         CASE WHEN type = 'NS' AND n % 10 = 0 THEN ${FIRST} + ${MOVED} - 3600000000 END,
         CASE WHEN type = 'NS' AND n % 10 = 0 THEN ${FIRST} + ${MOVED} END
    FROM filled, LATERAL (${RECORDS}) AS record (type, o, rdata)
   ORDER BY name, type, o`;

const HEADERS = `
  VALUES
    ('cache-control', 'max-age=' || n % 7 * 600), ('content-language', (ARRAY['en', 'de', 'fr'])[n % 3 + 1]),
    ('content-security-policy', 'default-src ''self'''), ('content-type', 'text/html; charset=utf-8'),
    ('etag', '"' || to_hex(n) || '-18d"'), ('referrer-policy', 'same-origin'), ('server', 'nginx/1.' || p % 20 || '.0'),
    ('strict-transport-security', 'max-age=31536000'), ('vary', 'accept-encoding'),
    ('via', '1.1 edge' || p || '.example'), ('x-frame-options', 'DENY'), ('x-powered-by', 'PHP/8.' || n % 4)`;

const INSERT_HEADERS = `
  INSERT INTO header_change (domain, name, observed_at, value)
  SELECT filled.name, header.name, ${FIRST}, value FROM filled, LATERAL (${HEADERS}) AS header (name, value)
   ORDER BY filled.name, header.name`;

const INSERT_DOMAINS = `
  INSERT INTO domain (name, version, recorded_at, created, last_update, last_change, dns_first, dns_latest, dns_types,
                      http_first, http_latest, http_digest, record_octets, header_octets)
  SELECT name, ${FIRST}, ${FIRST}, ${FIRST}, ${FIRST} + ${MOVED}, CASE WHEN n % 10 = 0 THEN ${FIRST} + ${MOVED} END,
         ${FIRST}, ${FIRST} + ${MOVED}, '{"A":{"digest":""},"NS":{"digest":""}}'::jsonb, ${FIRST}, ${FIRST}, '', 2000, 1500
    FROM filled ORDER BY name`;

const INSERT_TEXTS = `
  INSERT INTO known_text
  SELECT kind, substring(sha256(convert_to(text, 'UTF8')) FOR 16) AS digest, text
    FROM (SELECT DISTINCT header.name AS kind, value AS text FROM filled, LATERAL (${HEADERS}) AS header (name, value)
          UNION SELECT 'TXT', rdata::json ->> 'txt' FROM filled, LATERAL (${RECORDS}) AS record (type, o, rdata) WHERE type = 'TXT') AS text
   ORDER BY kind, digest ON CONFLICT DO NOTHING`;

const INSERT_FEED = `
  INSERT INTO change_feed (domain, observed_at, types, counts, octets, recorded_at)
  SELECT name, ${FIRST}, '{A,AAAA,MX,NS,SOA,TXT}'::text[], '{10,0,12,0,0,0}'::integer[], 3500, ${FIRST} FROM filled
  UNION ALL
  SELECT name, ${FIRST} + ${MOVED}, '{NS}'::text[], '{0,2,0,0,0,0}'::integer[], 350, ${FIRST} + ${MOVED} FROM filled WHERE n % 10 = 0`;

/** So many domains at once keep the sorting in memory. */
const CHUNK = 10_000;

/**
 * Writes synthetic domains with 10 records and 12 headers each, whose values are shared as on the internet: few name servers and
 * values of `server`, many addresses.
 *
 * @param {import('pg').Client} client of a database with our schema, empty
 * @param {number} count
 * @returns {Promise<void>}
 */
export async function fillForQuestions(client, count) {
  await client.query('SELECT setseed(0.5)');
  for (let first = 1; first <= count; first += CHUNK) {
    await client.query('DROP TABLE IF EXISTS filled');
    await client.query(
      'CREATE TEMPORARY TABLE filled (n integer, name text COLLATE "C", p integer, r float8)',
    );
    await client.query(`INSERT INTO filled ${DOMAINS}`, [first, Math.min(first + CHUNK - 1, count)]);
    for (const statement of [INSERT_RECORDS, INSERT_HEADERS, INSERT_DOMAINS, INSERT_TEXTS, INSERT_FEED]) {
      await client.query(statement);
    }
    await client.query('INSERT INTO known_name SELECT name FROM filled');
  }
  await client.query('VACUUM ANALYZE');
}
