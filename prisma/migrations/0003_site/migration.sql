-- How a site responds: since when it has had this scheme and status, and the latest response that is known; null: that of http_latest.
ALTER TABLE domain
  ADD COLUMN site_scheme text COLLATE "C",
  ADD COLUMN site_status integer,
  ADD COLUMN site_first  bigint,
  ADD COLUMN site_latest bigint;

-- Who observed it, and why another status than before is routine.
ALTER TABLE site_response ADD COLUMN source text, ADD COLUMN routine text COLLATE "C";

-- What is recorded has no state of its site yet: it follows from the responses when all is judged anew.
UPDATE judged_by SET rules = 0 WHERE EXISTS (SELECT FROM domain);
