-- When an absent header was last seen (migration 0013 says of those that are stored), and the order of a domain's changes, so
-- that a page of them is one range of each index.

ALTER TABLE header_change ADD COLUMN last_seen bigint;
CREATE INDEX header_change_last_seen ON header_change (domain, last_seen) WHERE last_seen IS NOT NULL;

DROP INDEX dns_record_removed;
CREATE INDEX dns_record_removed ON dns_record (domain, removed, first_seen, type, position) WHERE removed IS NOT NULL;
