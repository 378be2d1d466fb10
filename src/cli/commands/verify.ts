import type { Database } from '../../database/client.js';
import { OperationError } from '../../model/errors.js';
import { readStoredRows, type StoredRows } from '../../recorder/read-histories.js';
import {
  findOrphans,
  findStoredViolations,
  findUnsearchable,
  findUnsound,
} from '../../recorder/stored-violations.js';
import type { CommandContext } from '../command-context.js';
import { jsonLine, withProgress, writeText } from '../output.js';

export async function runVerify(context: CommandContext, { json }: { json: boolean }): Promise<void> {
  const count = { domains: 0, records: 0, headers: 0, violations: 0 };
  const progress = () => ({ items: count.domains, noun: 'domains' });
  await context.withDatabase('fail', (database) =>
    withProgress(context, progress, async () => {
      for await (const line of violations(database, count)) {
        count.violations += 1;
        await writeText(context.stdout, json ? jsonLine({ violation: line }) : `${line}\n`);
      }
    }),
  );
  const { domains, records, headers } = count;
  const checked = `${domains} domains, ${records} DNS record entries, ${headers} header changes`;
  if (count.violations > 0) {
    throw new OperationError(`${count.violations} violations in ${checked}; each is a line above.`);
  }
  if (!json) await context.sumUp(`No violations in ${checked}.\n`);
}

const DOMAINS_AT_ONCE = 20;

/** A line for each, while `count` grows with what is checked. */
async function* violations(
  { pool, writingPrisma }: Database,
  count: { domains: number; records: number; headers: number },
): AsyncGenerator<string> {
  let batch: StoredRows[] = [];
  for await (const rows of readStoredRows(pool)) {
    count.domains += 1;
    count.records += rows.stays.length;
    count.headers += rows.headers.length;
    for (const violation of findStoredViolations(rows)) yield `${rows.domain.name}: ${violation}`;
    batch.push(rows);
    if (batch.length < DOMAINS_AT_ONCE) continue;
    yield* await findUnsearchable(pool, batch);
    batch = [];
  }
  yield* await findUnsearchable(pool, batch);
  yield* await findUnsound(pool);
  for (const name of await findOrphans(writingPrisma)) {
    yield `${name}: records, headers or responses without a row for the domain`;
  }
}
