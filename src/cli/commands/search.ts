import type { Ask, Question } from '../../asking.js';
import { PublicError, UsageError } from '../../model/errors.js';
import { printable } from '../../model/text.js';
import { questionsOf, type WordQuestion } from '../../model/word-questions.js';
import type { CommandContext } from '../command-context.js';
import { type RecordData, rdataText, shortTime } from '../history-text.js';
import { type Listing, writeList } from '../output.js';
import { optionOf, pagesOf, withQuestions } from '../questions.js';

/** By the names of the options, which are those of REST's parameters where nothing else is said. */
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

interface Search extends Listing<never> {
  /** The options that make it this search; one of them has to be there. */
  readonly begins: readonly string[];
  /** Those that it may have besides. */
  readonly selects: readonly string[];
  readonly operation: 'searchDnsRecords' | 'searchHttpHeaders' | 'searchDomains';
}

type Texts<Names extends string> = Readonly<Record<Names, string>>;

interface RecordMatch extends Texts<'domain' | 'firstSeen' | 'lastSeen'> {
  readonly data: RecordData;
  readonly removed: string | null;
}

interface HeaderMatch extends Texts<'domain' | 'name' | 'value' | 'from' | 'lastSeen'> {
  readonly to: string | null;
}

type DomainMatch = Texts<'domain' | 'created' | 'lastUpdate' | 'lastChange'>;

const PRESENCE = ['present', 'removed', 'at', 'seenFrom', 'seenTo'];

const SEARCHES: Readonly<Record<WordQuestion['of'], Search>> = {
  records: {
    begins: ['ip', 'network', 'target', 'text', 'host'],
    selects: ['types', ...PRESENCE, 'firstSeenFrom', 'firstSeenTo'],
    operation: 'searchDnsRecords',
    headings: ['domain', 'owner', 'type', 'data', 'seen'],
    row: ({ domain, data, firstSeen, lastSeen, removed }: RecordMatch) => {
      const owner = data.host === domain ? '' : data.host;
      return [domain, owner, data.type, rdataText(data), timesText(firstSeen, removed, lastSeen)];
    },
  },
  headers: {
    begins: ['header'],
    selects: ['contains', ...PRESENCE],
    operation: 'searchHttpHeaders',
    headings: ['domain', 'header', 'seen'],
    row: ({ domain, name, value, from, to, lastSeen }: HeaderMatch) => {
      return [domain, `${name}: ${value}`, timesText(from, to, lastSeen)];
    },
  },
  domains: {
    begins: ['match', 'registrableDomain', 'createdFrom', 'createdTo', 'changedFrom', 'changedTo'],
    selects: [],
    operation: 'searchDomains',
    headings: ['domain', 'first observed', 'last observed', 'last change'],
    row: ({ domain, created, lastUpdate, lastChange }: DomainMatch) => {
      return [domain, ...[created, lastUpdate, lastChange].map(shortTime)];
    },
  },
};

/** Whether what is present still is, and when what is gone went, nobody knows, but when it was seen last. */
function timesText(from: string, to: string | null, lastSeen: string): string {
  const times = to === null ? `since ${shortTime(from)}` : `${shortTime(from)} - ${shortTime(to)}`;
  return `${times} (last seen ${shortTime(lastSeen)})`;
}

const KINDS = ['domains', 'records', 'headers'] as const;

type Kind = (typeof KINDS)[number];
type Parameters = Question['parameters'];

interface Asked {
  readonly kind: Kind;
  readonly parameters: Parameters;
  /** Shown above the matches of a word that may mean several things. */
  readonly title?: string;
}

export async function runSearch(context: CommandContext, words: readonly string[], options: SearchOptions) {
  const { stdout, notes } = context;
  const asked = words.length === 0 ? [askedByOptions(options)] : askedByWord(words.join(' '), options);
  await withQuestions(context, async ({ ask }) => {
    let found = 0;
    for (const each of asked) {
      const { headings, row } = SEARCHES[each.kind];
      const above = found > 0 ? '\n' : '';
      const title = each.title === undefined ? '' : `${above}${printable(each.title)}\n`;
      const listing = { title, headings, row: (match: never) => row(match).map(printable) };
      found += await writeList(stdout, matchesOf(ask, each, options), listing, options.json);
    }
    if (found === 0) notes.write('Nothing was found.\n');
  });
}

/** Pages of what is found; of a domain that is named, this one or none. */
async function* matchesOf(
  ask: Ask,
  { kind, parameters }: Asked,
  { json, limit = Number.POSITIVE_INFINITY }: SearchOptions,
): AsyncGenerator<readonly never[]> {
  const { domain } = parameters;
  if (domain !== undefined) return yield* detailsOf(ask, domain);
  const { operation } = SEARCHES[kind];
  const first = String(Math.min(limit, 500));
  const question = { operation, parameters: { ...parameters, first }, asTable: !json };
  let left = limit;
  for await (const matches of pagesOf<never>(ask, question)) {
    yield matches.slice(0, left);
    left -= matches.length;
    if (left <= 0) return;
  }
}

async function* detailsOf(ask: Ask, domain: Parameters[string]): AsyncGenerator<readonly never[]> {
  try {
    yield [await ask<never>({ operation: 'getDomainDetails', parameters: { domain } })];
  } catch (error) {
    if (!(error instanceof PublicError && error.code === 'DOMAIN_NOT_FOUND')) throw error;
  }
}

/** What a word may mean, as on the page, and the options select. @throws UsageError if there is nothing. */
function askedByWord(word: string, options: SearchOptions): readonly Asked[] {
  const exact = [...KINDS.flatMap((kind) => SEARCHES[kind].begins), 'contains'];
  const other = exact.find((name) => options[name] !== undefined);
  if (other !== undefined) throw new UsageError(`Write a word or ${optionOf(other)}, not both.`);
  const questions = questionsOf(word);
  const [first] = questions;
  if (first === undefined) {
    throw new UsageError('Write at least three characters of a name, a text or a value of a header.');
  }
  const selected = questions.filter(({ of }) => foreignTo(of, options) === undefined);
  if (selected.length === 0) rejectForeign(first.of, options);
  const common = parametersOf(options);
  return selected.map((question) => ({
    kind: question.of,
    parameters: { ...common, ...conditionOf(question) },
    ...(selected.length > 1 && { title: question.title }),
  }));
}

function conditionOf(question: WordQuestion): Parameters {
  if (question.of !== 'domains') return { ...question.where };
  const { match, name } = question;
  return match === '' ? { domain: name ?? '' } : { match };
}

function askedByOptions(options: SearchOptions): Asked {
  const [kind, ...others] = KINDS.filter((each) =>
    SEARCHES[each].begins.some((name) => options[name] !== undefined),
  );
  if (kind === undefined || others.length > 0) {
    throw new UsageError(
      'Write what to search: a word, such as an address or a name; or records by --ip, --network, --target, --text ' +
        'or --host, headers by --header NAME=VALUE, or domains by --match or their times; one kind at a time. ' +
        'Domains with something new: --changed-from 30d.',
    );
  }
  rejectForeign(kind, options);
  return { kind, parameters: parametersOf(options) };
}

/** An option that is given and selects nothing in a search; undefined if there is none. */
function foreignTo(kind: Kind, options: SearchOptions): string | undefined {
  return KINDS.flatMap((each) => SEARCHES[each].selects).find(
    (name) => options[name] !== undefined && !SEARCHES[kind].selects.includes(name),
  );
}

function rejectForeign(kind: Kind, options: SearchOptions): void {
  const foreign = foreignTo(kind, options);
  if (foreign !== undefined) throw new UsageError(`${optionOf(foreign)} is not for a search of ${kind}.`);
}

function parametersOf(options: SearchOptions): Parameters {
  const { header, present, removed, limit: _limit, json: _json, ...others } = options;
  const [, name, value] = /^([^=]*)(?:=(.*))?$/s.exec(header ?? '') ?? [];
  const isPresent = present === true ? 'true' : removed === true ? 'false' : undefined;
  const named = header === undefined ? {} : { name, value };
  return { ...(others as Parameters), present: isPresent, ...named };
}
