-- What one row can tell of its soundness; `dms verify` checks the rest. NOT VALID: rows of before are not read, so that the table is
-- locked for a moment only. The times are those from the year 0000 to 9999 (RFC 3339). One constraint: a Citus cluster takes no more.
ALTER TABLE domain ADD CONSTRAINT domain_is_sound CHECK (
  name <> '' AND version > 0 AND recorded_at BETWEEN 0 AND 253402300799999999
  AND created >= -62167219200000000 AND created <= last_update AND last_update <= 253402300799999999
  AND last_change BETWEEN created AND last_update
  AND (dns_first IS NULL) = (dns_latest IS NULL) AND dns_first <= dns_latest
  AND jsonb_typeof(dns_types) = 'object'
  AND (http_first IS NULL) = (http_latest IS NULL) AND (http_first IS NULL) = (http_digest IS NULL) AND http_first <= http_latest
  AND (https_latest IS NULL OR http_first IS NOT NULL) AND https_latest BETWEEN http_first AND http_latest
  AND (https_declined_first IS NULL OR https_latest IS NOT NULL)
  AND (https_declined_first IS NULL) = (https_declined_latest IS NULL)
  AND (https_declined_first IS NULL) = (https_declined_count IS NULL)
  AND https_declined_first > https_latest AND https_declined_first <= https_declined_latest
  AND https_declined_latest <= 253402300799999999
  AND https_declined_count >= 1 AND (https_declined_count = 1) = (https_declined_first = https_declined_latest)
  AND (site_scheme IS NULL) = (site_status IS NULL) AND (site_scheme IS NULL) = (site_first IS NULL)
  AND record_octets >= 0 AND header_octets >= 0
) NOT VALID;
