-- When a domain's records were removed, and when its headers changed: a domain as of an instant has the latest of these
-- times up to it, which would otherwise be looked for among all rows of the domain. First sights have the primary key.

CREATE INDEX dns_record_removed ON dns_record (domain, removed) WHERE removed IS NOT NULL;
CREATE INDEX dns_record_last_seen ON dns_record (domain, last_seen) WHERE last_seen IS NOT NULL;
CREATE INDEX header_change_observed_at ON header_change (domain, observed_at);
