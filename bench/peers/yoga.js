/** GraphQL Yoga with its plugin for graphql-jit, and Prisma with loaders for each request. */

import { createServer } from 'node:http';
import { useGraphQlJit } from '@envelop/graphql-jit';
import { createSchema, createYoga } from 'graphql-yoga';
import { typeDefs } from './domain.js';
import { createLoaders, resolvers } from './prisma-loaders.js';

const yoga = createYoga({
  schema: createSchema({ typeDefs, resolvers }),
  context: () => ({ loaders: createLoaders() }),
  plugins: [useGraphQlJit()],
  logging: false,
  cors: false,
  graphiql: false,
  landingPage: false,
  multipart: false,
});

createServer(yoga).listen(Number(process.env['PORT']), '127.0.0.1');
