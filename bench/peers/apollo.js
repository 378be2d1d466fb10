/**
 * The textbook server: Apollo Server in Express, and Prisma with loaders for each request. What only costs
 * is off: Apollo's computation of cache hints, and the ETag that Express would make for each answer.
 */

import { ApolloServer } from '@apollo/server';
import { ApolloServerPluginCacheControlDisabled } from '@apollo/server/plugin/disabled';
import { expressMiddleware } from '@as-integrations/express5';
import express from 'express';
import { typeDefs } from './domain.js';
import { createLoaders, resolvers } from './prisma-loaders.js';

const apollo = new ApolloServer({
  typeDefs,
  resolvers,
  plugins: [ApolloServerPluginCacheControlDisabled()],
});
await apollo.start();

const application = express();
application.disable('etag');
application.disable('x-powered-by');
application.use(
  '/graphql',
  express.json(),
  expressMiddleware(apollo, { context: async () => ({ loaders: createLoaders() }) }),
);
application.listen(Number(process.env['PORT']), '127.0.0.1');
