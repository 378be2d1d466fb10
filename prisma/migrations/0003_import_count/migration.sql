-- How many lines all imports into this database have had, by what became of them.

CREATE TABLE import_count (
  outcome text COLLATE "C" PRIMARY KEY,
  lines   bigint NOT NULL
);
