-- About how many octets an answer with the whole history of a domain has (src/recorder/history-octets.ts):
-- the size of a history is known before it is read. The program computes it for what is stored in the step
-- of migration 0006, in batches: here it would keep the table locked for as long as that takes.

ALTER TABLE domain ADD COLUMN history_octets bigint NOT NULL DEFAULT 0;
