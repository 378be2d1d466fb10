import type { Asking } from '../../asking.js';
import { UsageError } from '../../model/errors.js';
import { formatInstant, type Instant } from '../../model/instant.js';
import { printable } from '../../model/text.js';
import type { CommandContext } from '../command-context.js';
import { parseDomain } from '../domain-arguments.js';
import {
  type ChangeData,
  type ColourOption,
  changeText,
  type Paint,
  painter,
  type RecordData,
  rdataText,
  shortTime,
} from '../history-text.js';
import { requestedTime } from '../option-values.js';
import { counted, jsonLine, writeText } from '../output.js';
import { pagesOf, withQuestions } from '../questions.js';

interface ShowOptions {
  readonly at?: string;
  /** From one time to another. */
  readonly diff?: readonly string[];
  readonly changes: boolean;
  /** Of changes, the routine ones, too. */
  readonly all: boolean;
  /** Of a difference and of changes: these records, and these headers. */
  readonly types?: readonly string[];
  readonly headers?: readonly string[];
  readonly json: boolean;
  readonly color: ColourOption;
}

interface Showing extends Pick<Asking, 'ask' | 'lastSeen'> {
  readonly domain: string;
  readonly paint: Paint;
  readonly columns: number;
  write(text: string): Promise<void>;
}

/** Where the width is not known, as in a pipe. */
const USUAL_COLUMNS = 80;

export async function runShow(context: CommandContext, name: string | undefined, options: ShowOptions) {
  const { at, diff, changes, types, headers, json } = options;
  const given = name ?? diff?.[2];
  if (given === undefined) throw new UsageError('Name the domain: dms show DOMAIN.');
  const domain = parseDomain(given);
  if (diff !== undefined && diff.length !== (name === undefined ? 3 : 2)) {
    throw new UsageError(`--diff has two times: dms show ${domain} --diff FROM TO.`);
  }
  const [from, to] = timesInOrder(diff?.slice(0, 2) ?? [], context.now());
  requireFitting(options);
  await withQuestions(context, async ({ ask, lastSeen }) => {
    const { columns = USUAL_COLUMNS } = context.stdout;
    const paint = painter(options.color, context.stdout);
    const write = (text: string) => writeText(context.stdout, text);
    const showing: Showing = { domain, ask, lastSeen, paint, columns, write };
    if (changes) return showChanges(showing, options);
    if (from !== undefined && to !== undefined) {
      const parameters = { domain, from, to, types, headers };
      const difference = await ask<Difference>({ operation: 'getDomainDiff', parameters });
      return write(json ? jsonLine(difference) : differenceText(showing, from, to, difference));
    }
    if (json) return write(jsonLine(await ask({ operation: 'getDomain', parameters: { domain, at } })));
    return at === undefined ? showHistory(showing) : showState(showing, at);
  });
}

/** @throws UsageError for options that have nothing to do with each other. */
function requireFitting({ at, diff, changes, all, types, headers }: ShowOptions): void {
  if ([at !== undefined, diff !== undefined, changes].filter(Boolean).length > 1) {
    throw new UsageError('Write one of --at, --diff and --changes.');
  }
  if ((types ?? headers) !== undefined && diff === undefined && !changes) {
    throw new UsageError(
      '--types and --headers select what --diff or --changes shows: write one of these, too.',
    );
  }
  if (all && !changes) throw new UsageError('--all is about --changes: write that, too.');
}

/** @throws UsageError that names the option, and not the parameters of REST. */
function timesInOrder(texts: readonly string[], now: Instant): readonly string[] {
  const [from, to] = texts.map((text) => requestedTime('--diff', text, now));
  if (from !== undefined && to !== undefined && from > to)
    throw new UsageError(`--diff: FROM, ${texts[0]}, is later than TO, ${texts[1]}.`);
  return [from, to].filter((time) => time !== undefined).map(formatInstant);
}

/** The newest first. */
async function showChanges(
  { domain, ask, paint, write }: Showing,
  { types, headers, all, json }: ShowOptions,
): Promise<void> {
  const notable = all ? undefined : 'true';
  let shown = 0;
  const parameters = { domain, order: 'NEWEST_FIRST', types, headers, notable };
  for await (const changes of pagesOf<ChangeData>(ask, { operation: 'getDomainChanges', parameters })) {
    shown += changes.length;
    const lines = changes.map((change) =>
      json
        ? jsonLine(change)
        : `${paint('dim', shortTime(change.date))}  ${changeText(change, domain, paint)}\n`,
    );
    await write(lines.join(''));
  }
  if (shown > 0 || json || all) return;
  await write('No such change is notable: --all shows the routine ones, too.\n');
}

/** The body of Domain diff. */
interface Difference {
  readonly dnsRecordsAdded: readonly { readonly data: RecordData }[];
  readonly dnsRecordsRemoved: readonly { readonly data: RecordData }[];
  readonly httpHeaders: readonly {
    readonly name: string;
    readonly difference: 'ADDED' | 'CHANGED' | 'REMOVED';
    readonly old: string | null;
    readonly new: string | null;
  }[];
}

const HEADER_KINDS = { ADDED: 'HEADER_CREATED', CHANGED: 'HEADER_UPDATED', REMOVED: 'HEADER_GONE' } as const;

function differenceText({ domain, paint }: Showing, from: string, to: string, body: Difference): string {
  const changes = [
    ...body.dnsRecordsRemoved.map(({ data }) => ({ kind: 'DNS_RECORD_REMOVED', data })),
    ...body.dnsRecordsAdded.map(({ data }) => ({ kind: 'DNS_RECORD_ADDED', data })),
    ...body.httpHeaders.map(({ difference, ...header }) => ({ kind: HEADER_KINDS[difference], ...header })),
  ];
  const lines = changes.map((change) => changeText({ ...change, date: '' }, domain, paint));
  const title = paint('bold', `${domain} from ${shortTime(from)} to ${shortTime(to)}`);
  return [title, ...(lines.length > 0 ? lines : ['Nothing is different.']), ''].join('\n');
}

async function showState(showing: Showing, at: string): Promise<void> {
  const { domain, paint, ask, columns, write } = showing;
  const question = { operation: 'getDomainDetails', parameters: { domain, at } };
  const { created, lastUpdate } = await ask<Details>(question);
  const { rows } = await readRows(showing, at);
  const present = rows.filter(isPresent);
  const lines = groupedText(present, paint, (row) => stateLine(row, columns, Date.parse(lastUpdate), paint));
  await write(
    `${paint('bold', `${domain} at ${shortTime(at)}`)}\n` +
      `${paint('dim', `observed ${shortTime(created)} to ${shortTime(lastUpdate)}`)}\n` +
      aliasText(present) +
      (present.length === 0 ? 'Nothing was there.\n' : lines),
  );
}

interface Details {
  readonly created: string;
  readonly lastUpdate: string;
  readonly dnsRecordCount: number;
  readonly httpHeaderCount: number;
  readonly changeCount: number;
}

/** A time in which a record was there, or a header had a value. */
interface Stay {
  readonly from: string;
  /** Null: it has not ended. */
  to: string | null;
  /** What has ended went between then and its end; what has not was there then. */
  lastSeen: string;
}

/** A line: a value, and when it was there. */
interface Row {
  readonly group: string;
  /** Of the group among others. */
  readonly rank: number;
  readonly value: string;
  readonly stays: Stay[];
}

async function showHistory(showing: Showing): Promise<void> {
  const { domain, ask, paint, write } = showing;
  const details = await ask<Details>({ operation: 'getDomainDetails', parameters: { domain } });
  const { rows, initial, lastChange } = await readRows(showing);
  const { created, lastUpdate, dnsRecordCount, httpHeaderCount, changeCount } = details;
  const count = counted(changeCount - initial, 'change', 'changes');
  const since = lastChange === null ? 'no change since' : `${count} since, the last ${shortTime(lastChange)}`;
  const records = counted(dnsRecordCount, 'DNS record', 'DNS records');
  const headers = counted(httpHeaderCount, 'HTTP header', 'HTTP headers');
  await write(
    `${paint('bold', domain)}\n` +
      `observed ${shortTime(created)} to ${shortTime(lastUpdate)}\n${records}, ${headers}\n` +
      `${counted(initial, 'record or header', 'records and headers')} when first observed, ${since}\n` +
      aliasText(rows.filter(isPresent)) +
      groupedText(rows, paint, rowDrawer(rows, details, showing)),
  );
}

function isPresent({ stays }: Row): boolean {
  return stays.at(-1)?.to === null;
}

/** Where to look for the addresses of an alias without any. @param present What is there. */
function aliasText(present: readonly Row[]): string {
  const alias = present.find(({ group }) => group === 'CNAME');
  if (alias === undefined || present.some(({ group }) => /^(?:A|AAAA)(?: |$)/.test(group))) return '';
  return `${printable(`an alias: addresses are those of ${alias.value}, and recorded under that name`)}\n`;
}

/** Rows as lines, those of a group below its heading. */
function groupedText(rows: readonly Row[], paint: Paint, lineText: (row: Row) => string): string {
  let group = '';
  let text = '';
  for (const row of rows) {
    if (row.group !== group) text += `\n${paint('bold', printable(row.group))}\n`;
    group = row.group;
    text += lineText(row);
  }
  return text;
}

/**
 * What the changes of a domain tell.
 *
 * @param to Only the changes up to that time; absent: all.
 * @returns the RRsets of the domain itself first, each as a whole, then those of others, then the headers; how many of them
 *   were there when their part of the domain was first observed; and when the others changed last, if there are others.
 */
async function readRows({ domain, ask, lastSeen }: Showing, to?: string) {
  const rows = new Map<string, Row>();
  /** The stays that have not ended, by record or field name. */
  const open = new Map<string, Stay>();
  let initial = 0;
  let lastChange: string | null = null;
  const question = { operation: 'getDomainChanges', parameters: { domain, to } };
  for await (const changes of pagesOf<ChangeData>(ask, question)) {
    for (const change of changes) {
      const { date, routine, lastSeen: seen = date } = change;
      if (routine === 'INITIAL') initial += 1;
      else lastChange = date;
      const { key, group, rank, value } = subjectOf(change, domain);
      Object.assign(open.get(key) ?? {}, { to: date, lastSeen: seen });
      open.delete(key);
      if (value === null) continue;
      const id = JSON.stringify([group, value]);
      const row = rows.get(id) ?? { group, rank, value, stays: [] };
      const stay = { from: date, to: null, lastSeen: date };
      row.stays.push(stay);
      rows.set(id, row);
      open.set(key, stay);
    }
  }
  for (const [key, seen] of await lastSeen(domain, to))
    Object.assign(open.get(key) ?? {}, { lastSeen: seen });
  const sorted = [...rows.values()].sort(
    (one, other) => one.rank - other.rank || (one.group < other.group ? -1 : Number(one.group > other.group)),
  );
  return { rows: sorted, initial, lastChange };
}

/** What a change is of, and its value from then on; null: it is gone. */
function subjectOf({ kind, data, name = '', new: value = null }: ChangeData, domain: string) {
  if (data === undefined) return { key: name, group: `HTTP ${name}`, rank: 2, value };
  const isOwn = data.host === domain;
  return {
    key: JSON.stringify(data),
    group: isOwn ? data.type : `${data.type} ${data.host}`,
    rank: isOwn ? 0 : 1,
    value: kind === 'DNS_RECORD_ADDED' ? rdataText(data) : null,
  };
}

/** Of `2023-01-10 - 2023-05-20`, at least; longer dates are beside shorter bars. */
const DATES_WIDTH = 23;
/** Between the columns, and at the end. */
const GAPS = 4;
const LEAST_BAR = 12;

/** Makes what draws a row, with a bar from the first observation to the latest. @param rows All of them. */
function rowDrawer(rows: readonly Row[], { created, lastUpdate }: Details, { columns, paint }: Showing) {
  const [start, end] = [Date.parse(created), Date.parse(lastUpdate)];
  const longer = (most: number, { stays }: Row) => Math.max(most, datesOf(stays, end).length);
  const datesWidth = rows.reduce(longer, DATES_WIDTH);
  const room = Math.max(columns - datesWidth - GAPS, LEAST_BAR * 2);
  const width = Math.max(LEAST_BAR, Math.floor(room / 2));
  const column = (time: string) => ((Date.parse(time) - start) / Math.max(1, end - start)) * width;
  return (row: Row) => {
    const bar = Array.from({ length: width }, () => '·');
    for (const { from, to, lastSeen } of row.stays) {
      const begin = Math.min(width - 1, Math.floor(column(from)));
      // Of what is present, the column of its last sight counts whole: it may have been seen an hour before the domain was observed last.
      const certain = to === null ? Math.ceil(column(lastSeen)) : Math.floor(column(lastSeen));
      const ended = to === null ? width : Math.floor(column(to));
      // A stay has at least one column.
      bar.fill('░', begin, Math.max(begin + 1, ended)).fill('█', begin, Math.max(begin + 1, certain));
    }
    const shown = paint(isPresent(row) ? 'green' : 'dim', bar.join(''));
    return `${labelOf(row.value, room - width)}${shown}  ${paint('dim', datesOf(row.stays, end))}\n`;
  };
}

/** When a value was there; what is present, and was not seen when the domain was observed last, has when it was. */
function datesOf(stays: readonly Stay[], end: number): string {
  const day = (time = '') => time.slice(0, 10);
  const [first, last] = [stays[0], stays.at(-1)];
  const times = stays.length > 1 ? ` (${stays.length} times)` : '';
  if (last?.to != null) return `${day(first?.from)} - ${day(last.to)}${times}`;
  const isOld = last !== undefined && day(last.lastSeen) !== day(new Date(end).toISOString());
  return `since ${day(last?.from)}${times}${isOld ? `, last seen ${day(last.lastSeen)}` : ''}`;
}

function stateLine({ value, stays }: Row, columns: number, end: number, paint: Paint): string {
  const since = datesOf(stays.slice(-1), end);
  return `${labelOf(value, Math.max(columns - since.length, LEAST_BAR))}${paint('dim', since)}\n`;
}

/** A value in its column; a long one has a line of its own. */
function labelOf(value: string, width: number): string {
  const indented = `  ${printable(value)}`;
  return indented.length > width - 1 ? `${indented}\n${' '.repeat(width)}` : indented.padEnd(width);
}
