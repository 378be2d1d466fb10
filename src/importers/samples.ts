import { readFile } from 'node:fs/promises';
import type { Instant } from '../model/instant.js';
import type { Recorder } from '../recorder/recorder.js';
import { parseDmsLine } from './dms.js';

const SAMPLES = new URL('../../samples/observations.ndjson', import.meta.url);

/** @returns how many domains are new. */
export async function recordSamples(recorder: Recorder, now: Instant): Promise<number> {
  const lines = (await readFile(SAMPLES, 'utf8')).trim().split('\n');
  const { newNames } = await recorder.record(lines.map((line) => parseDmsLine(line, now)));
  return newNames.length;
}
