#!/usr/bin/env node
import { setUp } from '../scripts/set-up.js';

if (await setUp({ development: false })) await import(new URL('../dist/main.js', import.meta.url).href);
else process.exitCode = 1;
