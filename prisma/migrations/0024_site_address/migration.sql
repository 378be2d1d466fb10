-- Lines of format dms tell a response's scheme and status, and not where the connection went.

ALTER TABLE site_response ALTER COLUMN address DROP NOT NULL;
