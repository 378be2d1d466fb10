/** What Express itself costs: a route of Express 5 that answers with a constant body, read from a file. */

import { readFileSync } from 'node:fs';
import express from 'express';

const body = readFileSync(process.env['BODY_FILE'] ?? '', 'utf8');
const application = express();

application.get('/api/v1/domain/:domain', (_request, response) => {
  response.type('application/json').send(body);
});

application.listen(Number(process.env['PORT']), '127.0.0.1');
