import { UsageError } from '../../model/errors.js';
import type { CommandContext } from '../command-context.js';
import { printable, type RecordData, rdataText, shortTime } from '../history-text.js';
import { optionOf, pagesOf, withQuestions } from '../questions.js';
import { tableText } from '../table.js';
import { writeText } from '../write-text.js';

/** By the names of the options, which are those of REST's parameters where nothing else is said. */
export interface SearchOptions {
  readonly ip?: string;
  readonly network?: string;
  readonly target?: string;
  readonly text?: string;
  readonly host?: string;
  /** `NAME` or `NAME=VALUE`. */
  readonly header?: string;
  readonly contains?: string;
  readonly match?: string;
  readonly registrableDomain?: string;
  readonly types?: readonly string[];
  /** `present`. */
  readonly present?: true;
  /** `present`: false. */
  readonly removed?: true;
  readonly at?: string;
  readonly seenFrom?: string;
  readonly seenTo?: string;
  readonly firstSeenFrom?: string;
  readonly firstSeenTo?: string;
  readonly createdFrom?: string;
  readonly createdTo?: string;
  readonly changedFrom?: string;
  readonly changedTo?: string;
  readonly limit?: number;
  readonly json: boolean;
}

/** What is searched for. */
interface Search {
  /** In the plural. */
  readonly noun: string;
  /** The options that make it this search; one of them has to be there. */
  readonly begins: readonly (keyof SearchOptions)[];
  /** Those that it may have besides. */
  readonly selects: readonly (keyof SearchOptions)[];
  readonly operation: 'searchDnsRecords' | 'searchHttpHeaders' | 'searchDomains';
  /** A cell for each column. */
  row(match: never): string[];
  readonly widths: readonly number[];
}

interface RecordMatch {
  readonly domain: string;
  readonly data: RecordData;
  readonly firstSeen: string;
  readonly removed: string | null;
}

interface HeaderMatch {
  readonly domain: string;
  readonly name: string;
  readonly value: string;
  readonly from: string;
  readonly to: string | null;
}

interface DomainMatch {
  readonly domain: string;
  readonly created: string;
  readonly lastUpdate: string;
}

const PRESENCE = ['present', 'removed', 'at', 'seenFrom', 'seenTo'] as const;

const RECORDS: Search = {
  noun: 'records',
  begins: ['ip', 'network', 'target', 'text', 'host'],
  selects: ['types', ...PRESENCE, 'firstSeenFrom', 'firstSeenTo'],
  operation: 'searchDnsRecords',
  row: ({ domain, data, firstSeen, removed }: RecordMatch) => [
    ...[domain, data.host === domain ? '' : data.host, data.type, rdataText(data)],
    timesText(firstSeen, removed),
  ],
  widths: [24, 24, 6, 32],
};
const HEADERS: Search = {
  noun: 'headers',
  begins: ['header'],
  selects: ['contains', ...PRESENCE],
  operation: 'searchHttpHeaders',
  row: ({ domain, name, value, from, to }: HeaderMatch) => [domain, `${name}: ${value}`, timesText(from, to)],
  widths: [24, 40],
};
const DOMAINS: Search = {
  noun: 'domains',
  begins: ['match', 'registrableDomain', 'createdFrom', 'createdTo', 'changedFrom', 'changedTo'],
  selects: [],
  operation: 'searchDomains',
  row: ({ domain, created, lastUpdate }: DomainMatch) => [domain, timesText(created, lastUpdate)],
  widths: [40],
};

function timesText(from: string, to: string | null): string {
  return `${shortTime(from)} - ${to === null ? 'present' : shortTime(to)}`;
}

/** `dms search`: who has it, or had it. */
export async function runSearch(context: CommandContext, options: SearchOptions): Promise<void> {
  const { json, limit = Number.POSITIVE_INFINITY } = options;
  const { operation, row, widths } = searchOf(options);
  const parameters = { ...parametersOf(options), ...(limit < 500 && { first: String(limit) }) };
  await withQuestions(context, async ({ ask }) => {
    let found = 0;
    for await (const matches of pagesOf<never>(ask, operation, 'matches', parameters)) {
      const wanted = matches.slice(0, limit - found);
      found += wanted.length;
      const text = json
        ? wanted.map((match) => `${JSON.stringify(match)}\n`).join('')
        : tableText(
            wanted.map((match) => row(match).map(printable)),
            widths,
          );
      await writeText(context.stdout, text);
      if (found >= limit) return;
    }
  });
}

/** Of every search. */
const COMMON: readonly (keyof SearchOptions)[] = ['limit', 'json'];

function searchOf(options: SearchOptions): Search {
  const isGiven = (name: keyof SearchOptions) => options[name] !== undefined;
  const searches = [RECORDS, HEADERS, DOMAINS];
  const [search, ...others] = searches.filter(({ begins }) => begins.some(isGiven));
  if (search === undefined || others.length > 0) {
    throw new UsageError(
      'Write what to search: records by --ip, --network, --target, --text or --host, headers by --header NAME=VALUE, ' +
        'or domains by --match or their times; one kind at a time.',
    );
  }
  const allowed = [...search.begins, ...search.selects, ...COMMON];
  const foreign = searches
    .flatMap(({ selects }) => selects)
    .find((name) => isGiven(name) && !allowed.includes(name));
  if (foreign !== undefined) {
    const nouns = searches.filter(({ selects }) => selects.includes(foreign)).map(({ noun }) => noun);
    const own = [...search.begins, ...search.selects].map(optionOf).join(', ');
    throw new UsageError(
      `${optionOf(foreign)} selects ${nouns.join(' or ')}, not ${search.noun}, which have ${own}.`,
    );
  }
  if (search === HEADERS && !/=./s.test(options.header ?? '') && options.contains === undefined) {
    throw new UsageError(
      'Write the value of the header: --header NAME=VALUE, or a part of it: --header NAME --contains PART.',
    );
  }
  return search;
}

function parametersOf(
  options: SearchOptions,
): Readonly<Record<string, string | readonly string[] | undefined>> {
  const { header, present, removed, limit: _limit, json: _json, ...others } = options;
  if (present === true && removed === true) throw new UsageError('Write --present or --removed, not both.');
  const isPresent = present === true ? 'true' : removed === true ? 'false' : undefined;
  const [, name, value] = /^([^=]*)(?:=(.*))?$/s.exec(header ?? '') ?? [];
  return {
    ...others,
    ...(isPresent !== undefined && { present: isPresent }),
    ...(header !== undefined && { name, value }),
  };
}
