/**
 * Loaded into the server before its own program: tells on a port of its own for how long at most the event
 * loop has stood still since it was last asked.
 */

import { createServer } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION = 1;
const delay = monitorEventLoopDelay({ resolution: RESOLUTION });
delay.enable();

const server = createServer((_request, response) => {
  response.end(JSON.stringify(Math.max(0, delay.max / 1e6 - RESOLUTION)));
  delay.reset();
});
if (process.env['LOOP_DELAY_PORT'])
  server.listen(Number(process.env['LOOP_DELAY_PORT']), '127.0.0.1').unref();
