-- About how many octets an answer with the whole history of a domain has (src/recorder/history-octets.ts):
-- the size of a history is known before it is read.

ALTER TABLE domain ADD COLUMN history_octets bigint NOT NULL DEFAULT 0;

UPDATE domain AS d
   SET history_octets = part.octets
  FROM (SELECT domain, sum(octets)::bigint AS octets
          FROM (SELECT domain, 128 + octet_length(host) + octet_length(rdata::text) AS octets FROM dns_record
                UNION ALL
                SELECT domain, 80 + octet_length(name) + 2 * coalesce(octet_length(value), 0) FROM header_change
               ) AS entry
         GROUP BY domain) AS part
 WHERE part.domain = d.name;
