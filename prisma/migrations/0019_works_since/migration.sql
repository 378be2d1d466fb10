-- Of a migration: the oldest one whose programs keep working after it (src/database/migrations.ts). Null: only programs that know it do.
ALTER TABLE schema_migration ADD COLUMN works_since text COLLATE "C";
