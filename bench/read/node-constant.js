/** What node:http itself costs: it answers with a constant body, read from a file. */

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const body = readFileSync(process.env['BODY_FILE'] ?? '');

createServer((_request, response) => {
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': body.length,
  });
  response.end(body);
}).listen(Number(process.env['PORT']), '127.0.0.1');
