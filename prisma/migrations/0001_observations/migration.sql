-- Times are microseconds since the Unix epoch. Names sort by their bytes (COLLATE "C"), on every
-- system alike. There are no foreign keys: the recorder writes a domain's rows in one transaction,
-- `dms verify` finds a row without its domain, and a check per row would cost more than the row.

CREATE TABLE domain (
  name        text COLLATE "C" PRIMARY KEY,
  version     bigint NOT NULL,
  recorded_at bigint NOT NULL,
  created     bigint NOT NULL,
  last_update bigint NOT NULL,
  last_change bigint,
  dns_first   bigint,
  dns_latest  bigint,
  dns_types   jsonb NOT NULL,
  http_first  bigint,
  http_latest bigint,
  http_digest text
)
-- Room on each page for the next version of a row: an unchanged observation updates columns that no
-- index has, so that PostgreSQL can do it in place (heap-only tuples).
WITH (fillfactor = 70);

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
  PRIMARY KEY (domain, first_seen, type, position)
);

CREATE TABLE header_change (
  domain      text COLLATE "C" NOT NULL,
  name        text COLLATE "C" NOT NULL,
  observed_at bigint NOT NULL,
  present     boolean NOT NULL,
  value       text,
  source      text,
  PRIMARY KEY (domain, name, observed_at),
  CHECK (present OR value IS NULL)
);

CREATE TABLE access_token (
  digest     bytea PRIMARY KEY,
  name       text NOT NULL UNIQUE,
  scopes     text[] NOT NULL,
  created_at bigint NOT NULL,
  expires_at bigint,
  last_used  bigint,
  revoked_at bigint
);
