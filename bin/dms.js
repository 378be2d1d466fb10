#!/usr/bin/env node
import { setUp } from '../scripts/set-up.js';

// graphql-js and Express check less then. Set before they are loaded; the environment may have another value.
process.env['NODE_ENV'] ??= 'production';

if (await setUp({ development: false })) await import(new URL('../dist/main.js', import.meta.url).href);
else process.exitCode = 1;
