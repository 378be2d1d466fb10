-- The columns of migration 0009 have replaced it: this migration is recorded when the program has brought the rdata of
-- stored records into canonical form (migration 0006) and computed these columns for all domains. Without it, processes of earlier versions can record nothing, so that no size becomes wrong by them.

ALTER TABLE domain DROP COLUMN history_octets;
