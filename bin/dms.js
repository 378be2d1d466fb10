#!/usr/bin/env node
import { existsSync } from 'node:fs';

// graphql-js and Express check less then. Set before they are loaded; the environment may have another value.
process.env['NODE_ENV'] ??= 'production';

if (await isReady()) await import(new URL('../dist/main.js', import.meta.url).href);
else process.exitCode = 1;

/** Installs and builds in a checkout. A container image has what was built, and nothing to build it from. */
async function isReady() {
  if (!existsSync(new URL('../scripts', import.meta.url))) return true;
  const { setUp } = await import('../scripts/set-up.js');
  return setUp({ development: false });
}
