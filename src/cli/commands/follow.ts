import { setTimeout } from 'node:timers/promises';
import { explainFailure } from '../../database/database-failure.js';
import { PublicError } from '../../model/errors.js';
import { type CommandContext, stopSignal } from '../command-context.js';
import { type ChangeOptions, changeParameters } from '../domain-arguments.js';
import { type ChangeData, type ColourOptions, changeText, painter, shortTime } from '../history-text.js';
import { jsonLine, writeText } from '../output.js';
import { withQuestions } from '../questions.js';

interface FollowOptions extends ChangeOptions, ColourOptions {
  readonly after?: string;
  readonly json: boolean;
}

/** Between attempts while the database does not answer, in milliseconds. */
const RETRY_AFTER = 3_000;

export async function runFollow(context: CommandContext, domains: readonly string[], options: FollowOptions) {
  const { after: begin, json, ...selection } = options;
  const signal = stopSignal(context);
  const paint = painter(options, context.stdout);
  let after = begin;
  const lineOf = (cursor: string, change: ChangeData) => {
    if (json) return jsonLine({ cursor, ...change });
    const domain = change.domain ?? '';
    return `${paint('dim', shortTime(change.date))}  ${domain}  ${changeText(change, domain, paint)}\n`;
  };
  const selected = await changeParameters(context, domains, selection);
  const following = withQuestions(context, async ({ follow }) => {
    // A stream ends after an hour.
    while (!signal.aborted) {
      try {
        for await (const { events, end } of follow({ ...selected, after }, signal)) {
          const lines = events.map(({ id, data }) => lineOf(id, data as ChangeData));
          await writeText(context.stdout, lines.join(''), signal);
          after = end;
        }
      } catch (error) {
        if (!signal.aborted && !isPassing(error)) throw error;
        await setTimeout(RETRY_AFTER, undefined, { signal }).catch(() => {});
      }
    }
  });
  await following.finally(() => {
    if (after !== begin) context.stderr.write(`To continue: --after ${after}\n`);
  });
  context.setExitCode(context.failure.code);
}

function isPassing(error: unknown): boolean {
  return error instanceof PublicError ? error.code === 'UNAVAILABLE' : explainFailure(error) !== null;
}
