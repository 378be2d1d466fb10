import { createReadStream } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { OperationError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';
import type { Recorder } from '../recorder/recorder.js';
import { parseDmsLine } from './dms.js';
import { importLines } from './import-lines.js';
import { ImportSummary } from './import-summary.js';
import { readLines, textOf } from './lines.js';

const SAMPLES = fileURLToPath(new URL('../../samples/observations.ndjson', import.meta.url));

/** Records the observations that the project ships. @returns how many domains they are of. */
export async function recordSamples(recorder: Recorder, now: Instant): Promise<number> {
  const summary = new ImportSummary();
  await importLines(readLines(createReadStream(SAMPLES)), {
    parse: (line) => ({ observations: [parseDmsLine(textOf(line), now)] }),
    recorder,
    summary,
    strict: true,
    older: false,
    byDomain: false,
    onRejected: (line, reason) => {
      throw new OperationError(`${SAMPLES}, line ${line.number}: ${reason}`);
    },
  });
  return summary.domains.count;
}
