import { exportDms, readableHistory } from '../../exporters/dms.js';
import { OperationError } from '../../model/errors.js';
import { readHistories } from '../../recorder/read-histories.js';
import type { CommandContext } from '../command-context.js';
import { readDomains } from '../domain-arguments.js';
import { writeText } from '../write-text.js';

/** Text gathered before it is written: a write for each line would be slow. */
const CHUNK_CHARACTERS = 64 * 1024;

const LEFT_OUT =
  'records are not in the output: their data is not valid for their type, and `dms verify` lists them.';

/** `dms export [DOMAIN…]`: streams history out. */
export async function runExport(context: CommandContext, domains: readonly string[]): Promise<void> {
  const names = await readDomains(context, domains);
  const missing = new Set(names);
  await context.withConnections('fail', async ({ pool }) => {
    let text = '';
    let leftOut = 0;
    for await (const stored of readHistories(pool, names.length > 0 ? names : undefined)) {
      missing.delete(stored.name);
      const readable = readableHistory(stored);
      leftOut += readable.leftOut;
      for (const line of exportDms(readable.history)) {
        text += line;
        if (text.length < CHUNK_CHARACTERS) continue;
        await writeText(context.stdout, text);
        text = '';
      }
    }
    await writeText(context.stdout, text);
    if (leftOut > 0) context.warn(`dms: ${leftOut} ${LEFT_OUT}\n`);
  });
  if (missing.size > 0) throw new OperationError(`No history is recorded for ${[...missing].join(', ')}.`);
}
