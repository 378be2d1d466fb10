-- As of table `domain`.
ALTER TABLE site_response ADD CONSTRAINT site_response_is_sound CHECK (
  observed_at >= -62167219200000000 AND observed_at <= 253402300799999999
) NOT VALID;
