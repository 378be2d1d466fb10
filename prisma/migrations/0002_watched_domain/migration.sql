-- The domains that are observed again and again. Times are microseconds since the Unix epoch.

CREATE TABLE watched_domain (
  name        text COLLATE "C" PRIMARY KEY,
  -- Microseconds from one observation to the next.
  every       bigint NOT NULL CHECK (every > 0),
  -- When it is to be observed next; while a worker has it in hand, when its lease ends.
  due         bigint NOT NULL,
  -- When it was to be observed, for giving a lease back.
  scheduled   bigint NOT NULL,
  -- Which lease it is in; null: no worker has it in hand.
  lease       uuid,
  -- Of the latest observation: its time, its outcome for each part, and how many failed in a row.
  observed_at bigint,
  outcome     json,
  failures    integer NOT NULL DEFAULT 0
)
WITH (fillfactor = 70);

CREATE INDEX watched_domain_due ON watched_domain (due);
