import type { Pool } from 'pg';
import type { Omission, Selection } from '../../exporters/export-format.js';
import { EXPORT_FORMATS, type ExportFormatName } from '../../exporters/formats.js';
import { isKnown } from '../../history/stays-as-of.js';
import { OperationError } from '../../model/errors.js';
import { formatInstant, type Instant } from '../../model/instant.js';
import { countDomains, readHistories } from '../../recorder/read-histories.js';
import type { CommandContext } from '../command-context.js';
import { readDomains } from '../domain-arguments.js';
import { numberText, withProgress, writeText } from '../output.js';

interface ExportOptions {
  readonly format: ExportFormatName;
  readonly at?: Instant;
  readonly types?: readonly string[];
  readonly present: boolean;
  readonly fromFile?: string;
}

/** Text gathered before it is written: a write for each line would be slow. */
const CHUNK_CHARACTERS = 64 * 1024;

const MAX_MISSING_SHOWN = 10;

const OMISSIONS: Readonly<Record<Omission, string>> = {
  unpresentable: 'DNS records whose data does not fit into a DNS message, which --format dms has',
  class: 'DNS records of another class than IN, which --format dms and csv have',
  header: 'HTTP headers, which --format dms and csv have',
};

export async function runExport(context: CommandContext, domains: readonly string[], options: ExportOptions) {
  const { at, format, fromFile } = options;
  const types = options.types && new Set(options.types);
  // Observations lead to what was there at a time; tables, passive DNS and zones have only that.
  const present = options.present || (at !== undefined && format !== 'dms');
  const isAll = domains.length === 0 && fromFile === undefined;
  const names = isAll ? undefined : await readDomains(context, domains, fromFile);
  const missing = await context.withConnections('fail', ({ pool }) =>
    writeHistories(context, pool, names, EXPORT_FORMATS[format], { at, types, present }),
  );
  if (missing.length === 0) return;
  const shown = missing.slice(0, MAX_MISSING_SHOWN).join(', ');
  const more = missing.length > MAX_MISSING_SHOWN ? ` and ${missing.length - MAX_MISSING_SHOWN} more` : '';
  const upTo = at === undefined ? '' : ` up to ${formatInstant(at)}`;
  throw new OperationError(`No history is recorded for ${shown}${more}${upTo}.`);
}

/** @param names Absent: all domains. @returns those of the names of which nothing is known. */
async function writeHistories(
  context: CommandContext,
  pool: Pool,
  names: readonly string[] | undefined,
  format: (typeof EXPORT_FORMATS)[ExportFormatName],
  selection: Selection,
): Promise<readonly string[]> {
  const { stdout, warn } = context;
  const total = names?.length ?? (await countDomains(pool));
  const missing = new Set(names);
  const omitted = new Map<Omission, number>();
  const omit = (reason: Omission, count = 1) => omitted.set(reason, (omitted.get(reason) ?? 0) + count);
  let done = 0;
  let text: string = format.head;
  const noun = `of ${numberText(total)} domains`;
  const progress = () => ({ items: done, noun, share: done / Math.max(done, total, 1) });
  const write = async () => {
    for await (const history of readHistories(pool, names)) {
      done += 1;
      if (!isKnown(history.state.created, selection.at)) continue;
      missing.delete(history.name);
      for (const line of format.linesOf(history, selection, omit)) {
        text += line;
        if (text.length < CHUNK_CHARACTERS) continue;
        await writeText(stdout, text);
        text = '';
      }
    }
    await writeText(stdout, text);
  };
  // Among the lines of the output it would be unreadable, and they show the progress.
  await (stdout.isTTY === true ? write() : withProgress(context, progress, write));
  for (const [reason, count] of omitted)
    if (count > 0) warn(`Not in the output: ${OMISSIONS[reason]} (${numberText(count)}).`);
  return [...missing];
}
