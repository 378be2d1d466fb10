/**
 * PostGraphile 5 on the tables as they are: it makes the schema from them, and one prepared statement for
 * each operation. It needs Node 22 or later.
 */

import { createServer } from 'node:http';
import { postgraphile } from 'postgraphile';
import { makePgService } from 'postgraphile/adaptors/pg';
import { grafserv } from 'postgraphile/grafserv/node';
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber';
import { jsonPgSmartTags } from 'postgraphile/utils';

/** The tables have no foreign keys, from which it would know that these belong to a domain. */
const OF_A_DOMAIN = { tags: { foreignKey: '(domain) references public.domain (name)' } };

const server = createServer();
await postgraphile({
  extends: [PostGraphileAmberPreset],
  plugins: [
    jsonPgSmartTags({
      version: 1,
      config: { class: { dns_record: OF_A_DOMAIN, header_change: OF_A_DOMAIN } },
    }),
  ],
  pgServices: [makePgService({ connectionString: process.env['DATABASE_URL'] ?? '', schemas: ['public'] })],
  // Lists are cheaper than connections, whose pages are not needed here.
  schema: { defaultBehavior: '-connection +list -insert -update -delete' },
  // Grafast makes a part of the answer's text itself.
  grafserv: { graphiql: false, watch: false, outputDataAsString: true },
})
  .createServ(grafserv)
  .addTo(server);
server.listen(Number(process.env['PORT']), '127.0.0.1');
