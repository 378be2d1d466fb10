-- Each row of a header has its value from then on, also where the header returned with the one of before; without a value it
-- was gone, and the row has when it was last seen. Processes of earlier versions can record no headers after this.

-- In the order in which the recorder writes them.
LOCK TABLE domain, header_change IN SHARE ROW EXCLUSIVE MODE;

WITH stay AS (
  SELECT domain, name, observed_at, present, value,
         count(value) OVER (PARTITION BY domain, name ORDER BY observed_at) AS number
    FROM header_change
   WHERE domain IN (SELECT domain FROM header_change WHERE present AND value IS NULL)
), returned AS (
  SELECT domain, name, observed_at, present, value,
         first_value(value) OVER (PARTITION BY domain, name, number ORDER BY observed_at) AS value_before
    FROM stay
), filled AS (
  UPDATE header_change AS change
     SET value = returned.value_before
    FROM returned
   WHERE returned.present AND returned.value IS NULL
     AND change.domain = returned.domain AND change.name = returned.name AND change.observed_at = returned.observed_at
  RETURNING change.domain, octet_length(change.value) AS octets
)
UPDATE domain
   SET header_octets = header_octets + grown.octets
  FROM (SELECT domain, sum(2 * octets) AS octets FROM filled GROUP BY domain) AS grown
 WHERE domain.name = grown.domain;

-- Of what was recorded before, the latest change of any header is the latest observation that is known.
UPDATE header_change AS change
   SET last_seen = (SELECT max(before.observed_at) FROM header_change AS before
                     WHERE before.domain = change.domain AND before.observed_at < change.observed_at)
 WHERE NOT present;

ALTER TABLE header_change DROP COLUMN present;
