import { UsageError } from '../../model/errors.js';
import type { QueryParameters } from '../../model/request-target.js';
import { printable } from '../../model/text.js';
import { questionsOf, type WordQuestion } from '../../model/word-questions.js';
import type { CommandContext } from '../command-context.js';
import { parseDomain } from '../domain-arguments.js';
import { type RecordData, rdataText, shortTime } from '../history-text.js';
import { writeList } from '../output.js';
import { optionOf, pagesOf, withQuestions } from '../questions.js';

/** Where nothing else is said, the names are those of REST's parameters. */
interface SearchOptions {
  /** `NAME` or `NAME=VALUE`. */
  readonly header?: string;
  readonly present?: true;
  /** `present`: false. */
  readonly removed?: true;
  readonly limit?: number;
  readonly json: boolean;
  readonly [parameter: string]: unknown;
}

type Times = Record<'firstSeen' | 'lastSeen' | 'from' | 'created' | 'lastUpdate' | 'lastChange', string>;

/** Of any search of REST. */
interface Match extends Times, Record<'domain' | 'name' | 'value', string> {
  readonly data: RecordData;
  readonly removed: string | null;
  readonly to: string | null;
}

interface Search {
  /** Options of which at least one makes it this search. */
  readonly begins: readonly string[];
  /** Options that it may have besides. */
  readonly selects: readonly string[];
  readonly operation: 'searchDnsRecords' | 'searchHttpHeaders' | 'searchDomains';
  readonly headings: readonly string[];
  row(match: Match): readonly string[];
}

const PRESENCE = ['present', 'removed', 'at', 'seenFrom', 'seenTo'];

type Kind = WordQuestion['of'];

const SEARCHES: Readonly<Record<Kind, Search>> = {
  domains: {
    begins: ['match', 'registrableDomain', 'createdFrom', 'createdTo', 'changedFrom', 'changedTo'],
    selects: [],
    operation: 'searchDomains',
    headings: ['domain', 'first observed', 'last observed', 'last change'],
    row: ({ domain, created, lastUpdate, lastChange }) => {
      return [domain, ...[created, lastUpdate, lastChange].map(shortTime)];
    },
  },
  records: {
    begins: ['ip', 'network', 'target', 'text', 'host'],
    selects: ['types', ...PRESENCE, 'firstSeenFrom', 'firstSeenTo'],
    operation: 'searchDnsRecords',
    headings: ['domain', 'owner', 'type', 'data', 'seen'],
    row: ({ domain, data, firstSeen, lastSeen, removed }) => {
      const owner = data.host === domain ? '' : data.host;
      return [domain, owner, data.type, rdataText(data), timesText(firstSeen, removed, lastSeen)];
    },
  },
  headers: {
    begins: ['header'],
    selects: ['contains', ...PRESENCE],
    operation: 'searchHttpHeaders',
    headings: ['domain', 'header', 'seen'],
    row: ({ domain, name, value, from, to, lastSeen }) => {
      return [domain, `${name}: ${value}`, timesText(from, to, lastSeen)];
    },
  },
};

const KINDS = Object.keys(SEARCHES) as Kind[];

/** Whether what is present still is, and when what is gone went, nobody knows, but when it was seen last. */
function timesText(from: string, to: string | null, lastSeen: string): string {
  const times = to === null ? `since ${shortTime(from)}` : `${shortTime(from)} - ${shortTime(to)}`;
  return `${times} (last seen ${shortTime(lastSeen)})`;
}

export async function runSearch(context: CommandContext, words: readonly string[], options: SearchOptions) {
  const { limit, json } = options;
  const asked = words.length === 0 ? [askedByOptions(options)] : askedByWord(words.join(' '), options);
  await withQuestions(context, async ({ ask }) => {
    let found = 0;
    for (const each of asked) {
      const { operation, headings, row } = SEARCHES[each.kind];
      const title = each.title === '' ? '' : `${found > 0 ? '\n' : ''}${printable(each.title)}\n`;
      const listing = { title, headings, row: (match: Match) => row(match).map(printable) };
      const question = { operation, parameters: each.parameters, asTable: !json };
      found += await writeList(context, pagesOf<Match>(ask, question, limit), json, listing);
    }
    if (found === 0) context.note('Nothing was found.\n');
  });
}

/** What a word may mean, as on the page, and the options select. @throws UsageError if there is nothing. */
function askedByWord(word: string, options: SearchOptions) {
  const exact = [...KINDS.flatMap((kind) => SEARCHES[kind].begins), 'contains'];
  const other = exact.find((name) => name in options);
  if (other !== undefined) throw new UsageError(`Write a word or ${optionOf(other)}, not both.`);
  const questions = questionsOf(word);
  const [first] = questions;
  if (first === undefined) {
    throw new UsageError('Write at least three characters of a name, a text or a value of a header.');
  }
  const selected = questions.filter(({ of }) => foreignTo(of, options) === undefined);
  if (selected.length === 0) rejectForeign(first.of, options);
  return selected.map((question) => ({
    kind: question.of,
    parameters: { ...parametersOf(options), ...conditionOf(question) },
    title: selected.length > 1 ? question.title : '',
  }));
}

/** A word that is too short for a pattern is the name of one domain. */
function conditionOf(question: WordQuestion): QueryParameters {
  if (question.of !== 'domains') return { ...question.where };
  return { match: question.match || parseDomain(question.name ?? '') };
}

function askedByOptions(options: SearchOptions) {
  const [kind, ...others] = KINDS.filter((each) => SEARCHES[each].begins.some((name) => name in options));
  if (kind === undefined || others.length > 0) {
    throw new UsageError(
      'Write what to search: a word, such as an address or a name; or records by --ip, --network, --target, --text ' +
        'or --host, headers by --header NAME=VALUE, or domains by --match or their times; one kind at a time. ' +
        'Domains with something new: --changed-from 30d.',
    );
  }
  rejectForeign(kind, options);
  return { kind, parameters: parametersOf(options), title: '' };
}

/** An option that is given, and that a search does not have. */
function foreignTo(kind: Kind, options: SearchOptions): string | undefined {
  const own = [...SEARCHES[kind].begins, ...SEARCHES[kind].selects, 'limit', 'json'];
  return Object.keys(options).find((name) => !own.includes(name));
}

function rejectForeign(kind: Kind, options: SearchOptions): void {
  const foreign = foreignTo(kind, options);
  if (foreign !== undefined) throw new UsageError(`${optionOf(foreign)} is not for a search of ${kind}.`);
}

function parametersOf(options: SearchOptions): QueryParameters {
  const { header, present, removed, limit: _limit, json: _json, ...others } = options;
  const [, name, value] = /^([^=]*)(?:=(.*))?$/s.exec(header ?? '') ?? [];
  const isPresent = present === true ? 'true' : removed === true ? 'false' : undefined;
  const named = header === undefined ? {} : { name, value };
  return { ...(others as QueryParameters), present: isPresent, ...named };
}
