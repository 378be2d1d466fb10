-- As of table `domain`.
ALTER TABLE header_change ADD CONSTRAINT header_change_is_sound CHECK (
  observed_at >= -62167219200000000 AND observed_at <= 253402300799999999
  AND last_seen >= -62167219200000000 AND last_seen < observed_at
  AND name <> '' AND (value IS NOT NULL OR last_seen IS NOT NULL)
) NOT VALID;
