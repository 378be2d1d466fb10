import { headerPeriods, isKnown, type KnownStay, staysAsOf } from '../../history/stays-as-of.js';
import type { StoredHistory } from '../../history/stored-history.js';
import { dnsRecordData } from '../../model/dns-record.js';
import { OperationError, readArgument, UsageError } from '../../model/errors.js';
import { formatInstant, type Instant } from '../../model/instant.js';
import { parseRequestedTime } from '../../model/requested-time.js';
import { printable } from '../../model/text.js';
import { compareUtf8 } from '../../model/utf8-order.js';
import { readHistories } from '../../recorder/read-histories.js';
import { type CommandContext, now } from '../command-context.js';
import { parseDomain } from '../domain-arguments.js';
import {
  type ChangeData,
  type ColourOptions,
  changeText,
  type Paint,
  painter,
  type RecordData,
  rdataText,
  shortTime,
} from '../history-text.js';
import { counted, jsonLine, timeText, writeText } from '../output.js';
import { pagesOf, withQuestions } from '../questions.js';

interface ShowOptions extends ColourOptions {
  readonly at?: Instant;
  /** Two times, and perhaps the domain. */
  readonly diff?: readonly string[];
  readonly changes: boolean;
  readonly all: boolean;
  readonly types?: readonly string[];
  readonly headers?: readonly string[];
  readonly json: boolean;
}

export async function runShow(context: CommandContext, name: string | undefined, options: ShowOptions) {
  const { at, diff, changes, json } = options;
  const given = name ?? diff?.[2];
  if (given === undefined) throw new UsageError('Name the domain: dms show DOMAIN.');
  const domain = parseDomain(given);
  if (diff !== undefined && diff.length !== (name === undefined ? 3 : 2)) {
    throw new UsageError(`--diff has two times: dms show ${domain} --diff FROM TO.`);
  }
  requireFitting(options);
  if (changes) return showChanges(context, domain, options);
  if (diff !== undefined) return showDifference(context, domain, options);
  if (json) {
    const parameters = { domain, at: at === undefined ? undefined : formatInstant(at) };
    const body = await withQuestions(context, ({ ask }) => ask({ operation: 'getDomain', parameters }));
    return writeText(context.stdout, jsonLine(body as object));
  }
  await context.withConnections('fail', async ({ pool }) => {
    const missing = `No history is recorded for ${domain}`;
    for await (const history of readHistories(pool, [domain])) {
      if (isKnown(history.state.created, at)) return showHistory(context, history, options);
      throw new OperationError(`${missing} up to ${formatInstant(at ?? 0n)}.`);
    }
    throw new OperationError(`${missing}. To observe it now: dms observe ${domain}`);
  });
}

function requireFitting({ diff, changes, all, types, headers }: ShowOptions): void {
  if ((types ?? headers) !== undefined && diff === undefined && !changes)
    throw new UsageError('--types and --headers select what --diff or --changes shows: write that, too.');
  if (all && !changes) throw new UsageError('--all is about --changes: write that, too.');
}

async function showChanges(context: CommandContext, domain: string, options: ShowOptions): Promise<void> {
  const { types, headers, all, json } = options;
  const paint = painter(options, context.stdout);
  const parameters = { domain, order: 'NEWEST_FIRST', types, headers, notable: all ? undefined : 'true' };
  const asText = (change: ChangeData) =>
    `${paint('dim', shortTime(change.date))}  ${changeText(change, domain, paint)}\n`;
  let shown = 0;
  await withQuestions(context, async ({ ask }) => {
    for await (const changes of pagesOf<ChangeData>(ask, { operation: 'getDomainChanges', parameters })) {
      shown += changes.length;
      await writeText(context.stdout, changes.map(json ? jsonLine : asText).join(''));
    }
  });
  if (shown > 0 || json || all) return;
  await writeText(context.stdout, 'No such change is notable: --all shows the routine ones, too.\n');
}

interface Difference extends Readonly<Record<'from' | 'to', string>> {
  readonly dnsRecordsAdded: readonly { readonly data: RecordData }[];
  readonly dnsRecordsRemoved: readonly { readonly data: RecordData }[];
  readonly httpHeaders: readonly (Partial<ChangeData> & { difference: keyof typeof HEADER_KINDS })[];
}

const HEADER_KINDS = { ADDED: 'HEADER_CREATED', CHANGED: 'HEADER_UPDATED', REMOVED: 'HEADER_GONE' } as const;

async function showDifference(context: CommandContext, domain: string, options: ShowOptions): Promise<void> {
  const { diff = [], types, headers, json } = options;
  const body = await withQuestions(context, async ({ ask }) => {
    // REST would name its own parameters.
    const [first = 0n, last = 0n] = diff
      .slice(0, 2)
      .map((text) => readArgument('--diff', () => parseRequestedTime(text, now())));
    if (first > last) throw new UsageError('--diff: the first time is later than the second: exchange them.');
    const [from, to] = [first, last].map(formatInstant);
    return ask<Difference>({ operation: 'getDomainDiff', parameters: { domain, from, to, types, headers } });
  });
  if (json) return writeText(context.stdout, jsonLine(body));
  const changes = [
    ...body.dnsRecordsRemoved.map(({ data }) => ({ kind: 'DNS_RECORD_REMOVED', data })),
    ...body.dnsRecordsAdded.map(({ data }) => ({ kind: 'DNS_RECORD_ADDED', data })),
    ...body.httpHeaders.map(({ difference, ...header }) => ({ kind: HEADER_KINDS[difference], ...header })),
  ];
  const paint = painter(options, context.stdout);
  const lines = changes.map((change) => `${changeText({ ...change, date: '' }, domain, paint)}\n`);
  const title = paint('bold', `${domain} from ${shortTime(body.from)} to ${shortTime(body.to)}`);
  await writeText(context.stdout, `${title}\n${lines.join('') || 'Nothing is different.\n'}`);
}

type Stay = Pick<KnownStay, 'firstSeen' | 'lastSeen' | 'removed'>;

interface Row {
  /** Those of the domain itself, of other owner names, and headers, in this order. */
  readonly rank: 0 | 1 | 2;
  readonly group: string;
  readonly value: string;
  readonly stays: Stay[];
}

async function showHistory({ stdout }: CommandContext, history: StoredHistory, options: ShowOptions) {
  const { at } = options;
  const { created, lastUpdate, lastChange } = history.state;
  const paint = painter(options, stdout);
  const rows = getRows(history, at).filter((row) => at === undefined || isPresent(row));
  const headers = rows.filter(({ rank }) => rank === 2);
  const changed = lastChange === null ? '' : `, last changed ${timeText(lastChange)}`;
  const [title, observed] =
    at === undefined
      ? [history.name, `observed ${timeText(created)} to ${timeText(lastUpdate)}${changed}`]
      : [`${history.name} at ${timeText(at)}`, `first observed ${timeText(created)}`];
  const records = counted(rows.length - headers.length, 'DNS record');
  const names = counted(new Set(headers.map(({ group }) => group)).size, 'HTTP header', 'HTTP headers');
  const stays = rows.flatMap((row) => row.stays);
  const latest = stays.reduce((last, { lastSeen }) => (lastSeen > last ? lastSeen : last), created);
  const period = [created, at === undefined ? lastUpdate : latest] as const;
  const draw = createRowDrawer(rows, period, stdout.columns ?? USUAL_COLUMNS, paint);
  const lines = rows.map((row, index) => {
    const heading = row.group === rows[index - 1]?.group ? '' : `\n${paint('bold', printable(row.group))}\n`;
    return heading + draw(row);
  });
  await writeText(stdout, `${paint('bold', title)}\n${observed}\n${records}, ${names}\n${lines.join('')}`);
}

/** The RRsets of the domain itself first, each as a whole, then those of others, then the headers. */
function getRows(history: StoredHistory, at: Instant | undefined): Row[] {
  const rows = new Map<string, Row>();
  const add = (rank: Row['rank'], group: string, value: string, stay: Stay) => {
    const key = JSON.stringify([group, value]);
    const row = rows.get(key) ?? { rank, group, value, stays: [] };
    row.stays.push(stay);
    rows.set(key, row);
  };
  for (const { record, ...stay } of staysAsOf(history, at)) {
    const { host, type } = record;
    const isOwn = host === history.name;
    add(isOwn ? 0 : 1, isOwn ? type : `${type} ${host}`, rdataText(dnsRecordData(record)), stay);
  }
  for (const { name, value, ...stay } of headerPeriods(history, at)) add(2, `HTTP ${name}`, value, stay);
  return [...rows.values()].sort((a, b) => a.rank - b.rank || compareUtf8(a.group, b.group));
}

function isPresent({ stays }: Row): boolean {
  return stays.at(-1)?.removed === null;
}

/** Where the width is not known, as in a pipe. */
const USUAL_COLUMNS = 80;
/** Of `2023-01-10 - 2023-05-20`; beside longer dates are shorter bars. */
const DATES_WIDTH = 23;
const GAPS = 4;
const MIN_BAR_WIDTH = 12;

/** @param rows All that are drawn, each with a bar from one time to the other. */
function createRowDrawer(
  rows: readonly Row[],
  [start, end]: readonly [Instant, Instant],
  columns: number,
  paint: Paint,
): (row: Row) => string {
  const longer = (most: number, { stays }: Row) => Math.max(most, datesText(stays, end).length);
  const room = Math.max(columns - rows.reduce(longer, DATES_WIDTH) - GAPS, MIN_BAR_WIDTH * 2);
  const width = Math.max(MIN_BAR_WIDTH, Math.floor(room / 2));
  const column = (time: Instant) => (Number(time - start) / Math.max(1, Number(end - start))) * width;
  return (row) => {
    const bar = Array.from({ length: width }, () => '·');
    for (const { firstSeen, lastSeen, removed } of row.stays) {
      const begin = Math.min(width - 1, Math.floor(column(firstSeen)));
      // Of what is present, the column of its last sight counts whole: the domain was observed last soon after.
      const certain = removed === null ? Math.ceil(column(lastSeen)) : Math.floor(column(lastSeen));
      const ended = removed === null ? width : Math.floor(column(removed));
      // A stay has at least one column.
      bar.fill('░', begin, Math.max(begin + 1, ended)).fill('█', begin, Math.max(begin + 1, certain));
    }
    const value = `  ${printable(row.value)}`;
    // A long value has a line of its own.
    const label = value.length < room - width ? value : `${value}\n`;
    const margin = ' '.repeat(room - width - (label === value ? value.length : 0));
    const shown = paint(isPresent(row) ? 'green' : 'dim', bar.join(''));
    return `${label}${margin}${shown}  ${paint('dim', datesText(row.stays, end))}\n`;
  };
}

/** Also when it was last seen, of what is present but was not seen at the end. */
function datesText(stays: readonly Stay[], end: Instant): string {
  const day = (time: Instant) => formatInstant(time).slice(0, 10);
  const [first, last] = [stays[0], stays.at(-1)];
  if (first === undefined || last === undefined) return '';
  const times = stays.length > 1 ? ` (${stays.length} times)` : '';
  if (last.removed !== null) return `${day(first.firstSeen)} - ${day(last.removed)}${times}`;
  const seen = day(last.lastSeen) === day(end) ? '' : `, last seen ${day(last.lastSeen)}`;
  return `since ${day(last.firstSeen)}${times}${seen}`;
}
