import { setUp } from './set-up.js';

const ready = await setUp({ development: process.argv.includes('--development') });
process.exitCode = ready ? 0 : 1;
