-- The size of each part of a domain's history: about how many octets an answer with all of its DNS records, and one
-- with all of its headers, has (src/recorder/history-octets.ts). The program computes them for what is stored in the
-- step of migration 0010, in batches: here it would keep the table locked for as long as that takes.

ALTER TABLE domain
  ADD COLUMN record_octets bigint NOT NULL DEFAULT 0,
  ADD COLUMN header_octets bigint NOT NULL DEFAULT 0;
