import { defineConfig } from 'prisma/config';

// `prisma generate` looks for a schema engine that it never runs, and tries to download one when it
// finds none. Any existing file satisfies the look-up; migrations are applied by src/database/migrate.ts.
process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ??= process.execPath;

export default defineConfig({ schema: 'prisma/schema.prisma' });
