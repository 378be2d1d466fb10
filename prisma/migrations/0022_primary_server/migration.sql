-- Works with programs since: 0019_works_since
-- Which server was the primary last, since which start: a standby that has this row has replayed what that server wrote, and so
-- has its past (src/database/replicas.ts).
CREATE TABLE primary_server (
  -- One row at most.
  id     boolean PRIMARY KEY DEFAULT true CHECK (id),
  server text NOT NULL
);
