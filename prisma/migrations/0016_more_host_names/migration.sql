-- Host names in the rdata of more types, so that searches find them.

-- The one host name that the rdata of these types has; null: none that could be searched for. Texts of CAA records are of any length, which
-- an index must not fail at.
CREATE OR REPLACE FUNCTION host_name_of(type text, rdata json) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE type
    -- The issuer's domain name is before the parameters (RFC 8659, section 4.2).
    WHEN 'CAA' THEN CASE WHEN lower(rdata ->> 'tag') LIKE 'issue%' AND octet_length(rdata ->> 'value') <= 1024
      THEN nullif(rtrim(btrim(split_part(lower(rdata ->> 'value'), ';', 1), E' \t'), '.'), '') END
    WHEN 'NAPTR' THEN nullif(rdata ->> 'replacement', '.')
    -- As master files have it: after a preference or priority, if any, and with a final dot. The root is no host (RFC 9460, section 2.5).
    ELSE substring(rdata ->> 'data' FROM '^(?:[0-9]+ )?([^ ]+)[.](?: |$)')
  END
$$;

CREATE INDEX dns_record_host_name
    ON dns_record (reverse(host_name_of(type, rdata)) COLLATE "C", domain, first_seen, type, position)
 WHERE type IN ('AFSDB', 'CAA', 'DNAME', 'HTTPS', 'KX', 'LP', 'NAPTR', 'RT', 'SVCB') AND host_name_of(type, rdata) IS NOT NULL;
