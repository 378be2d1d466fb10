-- Rejected lines are counted as `rejected`.

UPDATE import_count SET outcome = 'rejected' WHERE outcome = 'refused';

-- The number of checks that found HTTPS declined is `checks`.

UPDATE watched_domain SET outcome = replace(outcome::text, '"looks":', '"checks":')::json
WHERE outcome::text LIKE '%"looks":%';
