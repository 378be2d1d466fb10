-- All tables of the first release. prisma/schema.prisma says what their columns mean.
--
-- Times are microseconds since the Unix epoch. Names sort by their bytes (COLLATE "C"), on every system alike. There are no
-- foreign keys: the recorder writes a domain's rows in one transaction, `dms verify` finds a row without its domain, and a check
-- for each row would cost more than the row.
--
-- Each table of domains (database/distribution.ts) has the domain's name first in its primary key, so that it can be divided by it:
-- into partitions, or over the nodes of a Citus cluster.

-- Trigrams find a part of a text. Only where it is missing: on a Citus cluster, IF NOT EXISTS is refused to who does not own the
-- extension that is there.
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') THEN
    CREATE EXTENSION pg_trgm;
  END IF;
END $$;

-- The address of a record; null for what is none, which `dms verify` reports: an index must not fail at it. Several processes of PostgreSQL
-- build an index of a table of 8 MB or more, and none of them may catch an error, since that takes a subtransaction. So nothing is cast that
-- could fail.
CREATE FUNCTION address_of(rdata json) RETURNS inet
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  address text := coalesce(rdata ->> 'ip', rdata ->> 'ipv6');
BEGIN
  -- IPv4, and IPv4-mapped addresses (RFC 5952, section 5).
  IF address || '.' ~ '^(::ffff:)?((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])[.]){4}$' THEN
    RETURN address::inet;
  END IF;
  -- Eight groups of up to four digits, or fewer and one `::`.
  IF address ~ '^[0-9a-f:]+$' AND address !~ '[0-9a-f]{5}|:::|::.*::|^:[^:]|[^:]:$'
     AND length(translate(address, '0123456789abcdef', '')) BETWEEN (CASE WHEN address LIKE '%::%' THEN 2 ELSE 7 END) AND 7 THEN
    RETURN address::inet;
  END IF;
  RETURN NULL;
END
$$;

-- The one host name that the rdata of these types has; null: none that could be searched for. Texts of CAA records are of any length, which
-- an index must not fail at.
CREATE FUNCTION host_name_of(type text, rdata json) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE type
    -- The issuer's domain name is before the parameters (RFC 8659, section 4.2).
    WHEN 'CAA' THEN CASE WHEN lower(rdata ->> 'tag') LIKE 'issue%' AND octet_length(rdata ->> 'value') <= 1024
      THEN nullif(rtrim(btrim(split_part(lower(rdata ->> 'value'), ';', 1), E' \t'), '.'), '') END
    WHEN 'NAPTR' THEN nullif(rdata ->> 'replacement', '.')
    -- As master files have it: after a preference or priority, if any, and with a final dot. The root is no host (RFC 9460, section 2.5).
    ELSE substring(rdata ->> 'data' FROM '^(?:[0-9]+ )?([^ ]+)[.](?: |$)')
  END
$$;

-- Domains and their histories

CREATE TABLE domain (
  name                  text COLLATE "C" PRIMARY KEY,
  version               bigint NOT NULL,
  recorded_at           bigint NOT NULL,
  created               bigint NOT NULL,
  last_update           bigint NOT NULL,
  last_change           bigint,
  dns_first             bigint,
  dns_latest            bigint,
  dns_types             jsonb NOT NULL,
  http_first            bigint,
  http_latest           bigint,
  http_digest           text,
  https_latest          bigint,
  https_declined_first  bigint,
  https_declined_latest bigint,
  https_declined_count  integer,
  -- The size of a history is known before it is read.
  record_octets         bigint NOT NULL DEFAULT 0,
  header_octets         bigint NOT NULL DEFAULT 0,
  kept_times            jsonb
)
-- Room on each page for the next version of a row: an unchanged observation updates columns that no index has, so that PostgreSQL can
-- do it in place (heap-only tuples).
WITH (fillfactor = 70);

CREATE INDEX domain_created ON domain (created, name);
-- Changes only where something changed, so that an unchanged observation still updates its row in place.
CREATE INDEX domain_last_change ON domain (coalesce(last_change, created), name);

CREATE TABLE dns_record (
  domain         text COLLATE "C" NOT NULL,
  first_seen     bigint NOT NULL,
  type           text COLLATE "C" NOT NULL,
  position       integer NOT NULL,
  host           text COLLATE "C" NOT NULL,
  class          text COLLATE "C" NOT NULL,
  -- json, not jsonb: the text comes back as it was written, in the order of the specification.
  rdata          json NOT NULL,
  last_seen      bigint,
  removed        bigint,
  source         text,
  removed_source text,
  first_sighted  boolean NOT NULL DEFAULT false,
  last_sighted   boolean NOT NULL DEFAULT false,
  PRIMARY KEY (domain, first_seen, type, position)
);

-- A domain as of an instant has the latest of these times up to it, which would otherwise be looked for among all its rows; and a page of
-- its changes is one range of each. First sights have the primary key.
CREATE INDEX dns_record_removed ON dns_record (domain, removed, first_seen, type, position) WHERE removed IS NOT NULL;
CREATE INDEX dns_record_last_seen ON dns_record (domain, last_seen) WHERE last_seen IS NOT NULL;

-- Pages of a domain's own records, by type: those that are present, and removed ones.
CREATE INDEX dns_record_present ON dns_record (domain, type, first_seen, position) WHERE removed IS NULL;
CREATE INDEX dns_record_removed_by_type ON dns_record (domain, type, first_seen, position) WHERE removed IS NOT NULL;

-- From a value to the records that have it, each in the order of matches. Names are reversed: those below a name are one range.
CREATE INDEX dns_record_address ON dns_record (address_of(rdata), domain, first_seen, type, position)
 WHERE type IN ('A', 'AAAA');
CREATE INDEX dns_record_target
    ON dns_record (reverse(coalesce(rdata ->> 'target', rdata ->> 'mname')) COLLATE "C", domain, first_seen, type, position)
 WHERE type IN ('NS', 'CNAME', 'PTR', 'MX', 'SRV', 'SOA');
CREATE INDEX dns_record_rname ON dns_record (reverse(rdata ->> 'rname') COLLATE "C", domain, first_seen, type, position)
 WHERE type = 'SOA';
CREATE INDEX dns_record_host_name
    ON dns_record (reverse(host_name_of(type, rdata)) COLLATE "C", domain, first_seen, type, position)
 WHERE type IN ('AFSDB', 'CAA', 'DNAME', 'HTTPS', 'KX', 'LP', 'NAPTR', 'RT', 'SVCB') AND host_name_of(type, rdata) IS NOT NULL;
-- A hash: a text may be longer than a key of an index.
CREATE INDEX dns_record_text ON dns_record (hashtextextended(rdata ->> 'txt', 0), domain, first_seen, type, position)
 WHERE type = 'TXT';
CREATE INDEX dns_record_host ON dns_record (host, domain, first_seen, type, position) WHERE host <> domain;

CREATE TABLE header_change (
  domain      text COLLATE "C" NOT NULL,
  name        text COLLATE "C" NOT NULL,
  observed_at bigint NOT NULL,
  value       text,
  source      text,
  last_seen   bigint,
  PRIMARY KEY (domain, name, observed_at)
);

-- As those of dns_record.
CREATE INDEX header_change_observed_at ON header_change (domain, observed_at);
CREATE INDEX header_change_last_seen ON header_change (domain, last_seen) WHERE last_seen IS NOT NULL;
CREATE INDEX header_change_value ON header_change (hashtextextended(name || E'\n' || value, 0), domain, observed_at)
 WHERE value IS NOT NULL;

CREATE TABLE site_response (
  domain      text COLLATE "C" NOT NULL,
  observed_at bigint NOT NULL,
  scheme      text COLLATE "C" NOT NULL CHECK (scheme IN ('https', 'http')),
  status      integer NOT NULL CHECK (status BETWEEN 100 AND 999),
  address     text COLLATE "C",
  PRIMARY KEY (domain, observed_at)
);

-- Names and texts that many domains share, once each, with indexes that find them by a part; records and headers are found by what is found
-- there.

-- The names of domains, and the owner names of records.
CREATE TABLE known_name (
  name text COLLATE "C" PRIMARY KEY
);

CREATE INDEX known_name_reverse ON known_name (reverse(name));
CREATE INDEX known_name_trigrams ON known_name USING gin (name gin_trgm_ops);

-- The texts of TXT records (kind `TXT`), and the values of headers (kind: the field name, in lower case).
CREATE TABLE known_text (
  kind   text COLLATE "C" NOT NULL,
  -- The first half of its SHA-256: a text may be longer than a key of an index.
  digest bytea NOT NULL,
  text   text COLLATE "C" NOT NULL,
  PRIMARY KEY (kind, digest)
);

-- A long text has thousands of trigrams, and few have it: those are found by their length.
CREATE INDEX known_text_trigrams ON known_text USING gin (text gin_trgm_ops)
 WHERE kind = 'TXT' AND octet_length(text) <= 4096;
CREATE INDEX known_value_trigrams ON known_text USING gin (text gin_trgm_ops)
 WHERE kind <> 'TXT' AND octet_length(text) <= 4096;
CREATE INDEX known_text_long ON known_text (kind) WHERE octet_length(text) > 4096;

-- Names (of the kind '') and texts of erased domains, until it is known that others have them, too, or they are erased.
CREATE TABLE erased_text (
  number bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  kind   text COLLATE "C" NOT NULL,
  text   text COLLATE "C" NOT NULL
);

-- The observations that changed something, in the order in which they were recorded: their transactions take numbers one after the other,
-- and keep the lock until they are committed.
CREATE TABLE change_feed (
  number      bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  -- Null: the domain was erased. The row stays, since a reader may continue there.
  domain      text COLLATE "C",
  observed_at bigint NOT NULL,
  types       text[] NOT NULL,
  counts      integer[] NOT NULL,
  octets      bigint NOT NULL,
  recorded_at bigint NOT NULL
);

-- A place to begin at where nothing was recorded since.
INSERT INTO change_feed (observed_at, types, counts, octets, recorded_at)
VALUES (0, '{}', '{0,0,0,0,0,0}', 0, (extract(epoch FROM statement_timestamp()) * 1000000)::bigint);

-- Observing and importing

CREATE TABLE watched_domain (
  name        text COLLATE "C" PRIMARY KEY,
  every       bigint NOT NULL CHECK (every > 0),
  due         bigint NOT NULL,
  scheduled   bigint NOT NULL,
  lease       uuid,
  observed_at bigint,
  outcome     json,
  failures    integer NOT NULL DEFAULT 0
)
WITH (fillfactor = 70);

-- Domains that answered when they were observed last are taken apart from those that failed and new ones: any number of the latter may be
-- due, and the others must be found without reading them.
CREATE INDEX watched_domain_due_normal ON watched_domain (due)
 WHERE failures = 0 AND observed_at IS NOT NULL;
CREATE INDEX watched_domain_due_low ON watched_domain (due)
 WHERE failures > 0 OR observed_at IS NULL;

CREATE TABLE import_count (
  outcome text COLLATE "C" PRIMARY KEY,
  lines   bigint NOT NULL
);

-- Access, and servers

CREATE TABLE access_token (
  digest     bytea PRIMARY KEY,
  name       text NOT NULL UNIQUE,
  scopes     text[] NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  last_used  bigint,
  revoked_at bigint
);

-- Which server was the primary last, since which start: a standby that has this row has replayed what that server wrote, and so has its
-- past (database/replicas.ts).
CREATE TABLE primary_server (
  -- One row at most.
  id     boolean PRIMARY KEY DEFAULT true CHECK (id),
  server text NOT NULL
);
