-- Domains that answered when they were observed last are taken apart from those that failed and new ones:
-- any number of the latter may be due, and the others must be found without reading them.

CREATE INDEX watched_domain_due_normal ON watched_domain (due)
 WHERE failures = 0 AND observed_at IS NOT NULL;
CREATE INDEX watched_domain_due_low ON watched_domain (due)
 WHERE failures > 0 OR observed_at IS NULL;
DROP INDEX watched_domain_due;
