-- Works with programs since: 0019_works_since

-- The address of a record; null for what is none, which `dms verify` reports: an index must not fail at it. Several processes of PostgreSQL
-- build an index of a table of 8 MB or more, and none of them may catch an error, since that takes a subtransaction. So nothing is cast that
-- could fail. The index stays: a canonical address is the same as before.
CREATE OR REPLACE FUNCTION address_of(rdata json) RETURNS inet
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  address text := coalesce(rdata ->> 'ip', rdata ->> 'ipv6');
BEGIN
  -- IPv4, and IPv4-mapped addresses (RFC 5952, section 5).
  IF address || '.' ~ '^(::ffff:)?((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])[.]){4}$' THEN
    RETURN address::inet;
  END IF;
  -- Eight groups of up to four digits, or fewer and one `::`.
  IF address ~ '^[0-9a-f:]+$' AND address !~ '[0-9a-f]{5}|:::|::.*::|^:[^:]|[^:]:$'
     AND length(translate(address, '0123456789abcdef', '')) BETWEEN (CASE WHEN address LIKE '%::%' THEN 2 ELSE 7 END) AND 7 THEN
    RETURN address::inet;
  END IF;
  RETURN NULL;
END
$$;
