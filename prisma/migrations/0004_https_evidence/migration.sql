-- What is known of HTTPS of a site that has answered over it: the time of the latest observation over it, and
-- the first, the latest and the number of the looks since then at which it was declined. No index has them,
-- so that a row is still updated in place.

ALTER TABLE domain
  ADD COLUMN https_latest          bigint,
  ADD COLUMN https_declined_first  bigint,
  ADD COLUMN https_declined_latest bigint,
  ADD COLUMN https_declined_count  integer;

-- The response of each observation that changed something: the evidence of its changes.

CREATE TABLE site_response (
  domain      text COLLATE "C" NOT NULL,
  observed_at bigint NOT NULL,
  scheme      text COLLATE "C" NOT NULL CHECK (scheme IN ('https', 'http')),
  status      integer NOT NULL CHECK (status BETWEEN 100 AND 999),
  address     text COLLATE "C" NOT NULL,
  PRIMARY KEY (domain, observed_at)
);
