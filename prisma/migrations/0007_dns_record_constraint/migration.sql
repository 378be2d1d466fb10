-- As of table `domain`. That a record is not present twice at a time would need an exclusion constraint, whose index costs more than all
-- others of the table: `dms verify` finds it.
ALTER TABLE dns_record ADD CONSTRAINT dns_record_is_sound CHECK (
  first_seen >= -62167219200000000 AND first_seen <= 253402300799999999 AND position >= 0
  AND json_typeof(rdata) = 'object'
  AND last_seen >= first_seen AND last_seen <= 253402300799999999
  AND removed >= last_seen AND removed <= 253402300799999999
  AND CASE WHEN removed IS NULL
        THEN (last_seen IS NULL OR last_sighted) AND removed_source IS NULL AND removed_routine IS NULL
        ELSE last_seen IS NOT NULL END
) NOT VALID;
