-- What searches find, and the indexes by which they do.
--
-- This migration is recorded when the program has brought the rdata of stored records into canonical form (migration 0006)
-- and computed the sizes of histories (migration 0009).

-- In the order in which the recorder writes them: what is recorded meanwhile would be missing from the tables of names and texts.
LOCK TABLE domain, dns_record, header_change IN SHARE ROW EXCLUSIVE MODE;

INSERT INTO known_name SELECT name FROM domain UNION SELECT host FROM dns_record ON CONFLICT DO NOTHING;
INSERT INTO known_text
SELECT kind, substring(sha256(convert_to(text, 'UTF8')) FOR 16), text
  FROM (SELECT name AS kind, value AS text FROM header_change WHERE value IS NOT NULL
        UNION SELECT 'TXT', rdata ->> 'txt' FROM dns_record WHERE type = 'TXT' AND rdata ->> 'txt' IS NOT NULL) AS text
    ON CONFLICT DO NOTHING;

CREATE INDEX known_name_reverse ON known_name (reverse(name));
CREATE INDEX known_name_trigrams ON known_name USING gin (name gin_trgm_ops);
-- A long text has thousands of trigrams, and few have it: those are found by their length.
CREATE INDEX known_text_trigrams ON known_text USING gin (text gin_trgm_ops)
 WHERE kind = 'TXT' AND octet_length(text) <= 4096;
CREATE INDEX known_value_trigrams ON known_text USING gin (text gin_trgm_ops)
 WHERE kind <> 'TXT' AND octet_length(text) <= 4096;
CREATE INDEX known_text_long ON known_text (kind) WHERE octet_length(text) > 4096;

-- The address of a record; null for what is none, which `dms verify` reports: an index must not fail at it.
CREATE OR REPLACE FUNCTION address_of(rdata json) RETURNS inet
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
  RETURN coalesce(rdata ->> 'ip', rdata ->> 'ipv6')::inet;
EXCEPTION WHEN invalid_text_representation THEN
  RETURN NULL;
END
$$;

-- Each in the order of matches.
CREATE INDEX dns_record_address ON dns_record (address_of(rdata), domain, first_seen, type, position)
 WHERE type IN ('A', 'AAAA');
CREATE INDEX dns_record_target
    ON dns_record (reverse(coalesce(rdata ->> 'target', rdata ->> 'mname')) COLLATE "C", domain, first_seen, type, position)
 WHERE type IN ('NS', 'CNAME', 'PTR', 'MX', 'SRV', 'SOA');
CREATE INDEX dns_record_rname ON dns_record (reverse(rdata ->> 'rname') COLLATE "C", domain, first_seen, type, position)
 WHERE type = 'SOA';
CREATE INDEX dns_record_text ON dns_record (hashtextextended(rdata ->> 'txt', 0), domain, first_seen, type, position)
 WHERE type = 'TXT';
CREATE INDEX dns_record_host ON dns_record (host, domain, first_seen, type, position) WHERE host <> domain;
CREATE INDEX header_change_value ON header_change (hashtextextended(name || E'\n' || value, 0), domain, observed_at)
 WHERE value IS NOT NULL;

CREATE INDEX domain_created ON domain (created, name);
-- Changes only where something changed, so that an unchanged observation still updates its row in place.
CREATE INDEX domain_last_change ON domain (coalesce(last_change, created), name);

-- Pages of a domain's own records, by type: those that are present, and removed ones.
CREATE INDEX dns_record_present ON dns_record (domain, type, first_seen, position) WHERE removed IS NULL;
CREATE INDEX dns_record_removed_by_type ON dns_record (domain, type, first_seen, position) WHERE removed IS NOT NULL;
