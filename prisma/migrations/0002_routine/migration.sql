-- Why a change is routine; null: it is notable. Decided when it is recorded.
ALTER TABLE dns_record ADD COLUMN routine text COLLATE "C", ADD COLUMN removed_routine text COLLATE "C";
ALTER TABLE header_change ADD COLUMN routine text COLLATE "C";

-- What the next change of an RRset, or of a header, is judged by. There is no row before its first change.
CREATE TABLE earlier_changes (
  domain     text COLLATE "C" NOT NULL,
  -- Empty: it is of a header.
  type       text COLLATE "C" NOT NULL,
  name       text COLLATE "C" NOT NULL,
  times      text NOT NULL,
  count      integer NOT NULL,
  latest_new bigint NOT NULL,
  digests    text COLLATE "C" NOT NULL,
  PRIMARY KEY (domain, type, name)
)
WITH (fillfactor = 70);

-- In rows of before, any change may be notable, and of any header.
ALTER TABLE change_feed
  ADD COLUMN notable integer[] NOT NULL DEFAULT '{}',
  ADD COLUMN headers text[] NOT NULL DEFAULT '{*}';

-- By which rules changes were judged: one row at most.
CREATE TABLE judged_by (
  id    boolean PRIMARY KEY DEFAULT true CHECK (id),
  rules integer NOT NULL
);

-- Where nothing is recorded yet, nothing is to be judged anew.
INSERT INTO judged_by (rules) SELECT 1 WHERE NOT EXISTS (SELECT FROM domain);
