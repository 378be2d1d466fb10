-- All sightings of a record: an observation between two that comes later ends its stay, and the next one begins another.
ALTER TABLE dns_record ADD COLUMN sightings json;

-- Those that were kept until now: the first, and the last.
UPDATE dns_record
   SET sightings = CASE
         WHEN first_sighted AND last_seen IS DISTINCT FROM first_seen AND (removed IS NULL OR last_sighted)
           THEN format('[["%s",%s],["%s",%s]]', first_seen, coalesce(to_json(source), 'null'), last_seen, coalesce(to_json(source), 'null'))
         ELSE format('[["%s",%s]]', CASE WHEN first_sighted THEN first_seen ELSE last_seen END, coalesce(to_json(source), 'null'))
       END::json
 WHERE first_sighted OR last_sighted;
