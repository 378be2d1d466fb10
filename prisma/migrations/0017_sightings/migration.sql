-- Records that were sighted: a passive DNS feed says that a record was there, and nothing of others.

-- Whether first_seen, and last_seen, is the time of a sighting: of no complete observation of the type. Of a record that is present, last_seen
-- is its latest sighting, if there was one.
ALTER TABLE dns_record
  ADD COLUMN first_sighted boolean NOT NULL DEFAULT false,
  ADD COLUMN last_sighted boolean NOT NULL DEFAULT false;

-- By part: times and sources of observations that no other row tells of.
ALTER TABLE domain ADD COLUMN kept_times jsonb;
