import { parseAddress } from '../importers/front-page.js';
import { type Line, readLines, textOf } from '../importers/lines.js';
import { openInput } from '../importers/open-input.js';
import { attempt } from '../model/attempt.js';
import { parseDomainName } from '../model/domain-name.js';
import { InvalidDomainError, InvalidObservationError, OperationError, UsageError } from '../model/errors.js';
import { isIpv4, isIpv6 } from '../model/ip-address.js';
import type { QueryParameters } from '../model/request-target.js';
import { quoted } from '../model/text.js';
import type { CommandContext } from './command-context.js';
import { counted } from './output.js';
import { showProgress } from './progress.js';

/**
 * The canonical names of the domains that a command is given, each once; `-` stands for those of standard input, one
 * a line. They must fit into memory.
 *
 * @param file has names, too, one a line; absent: there is none.
 * @throws UsageError as parseDomain() does; OperationError if a line is no name, or these inputs name none: no name
 * means all domains to some commands.
 */
export async function readDomains(context: CommandContext, texts: readonly string[], file?: string) {
  const names = new Set<string>();
  const counts = { rejected: 0 };
  for await (const batch of domainBatches(context, texts, file, counts)) {
    for (const name of batch) names.add(name);
  }
  failIfRejected(counts.rejected, 'correct them, since nothing was done');
  if (names.size > 0 || (texts.length === 0 && file === undefined)) return [...names];
  const where = texts.includes('-') ? 'Standard input' : file;
  throw new OperationError(`${where} names no domain: write one name per line.`);
}

/** The options of a command that selects changes. */
export interface ChangeOptions {
  readonly registrableDomain?: string;
  readonly watched?: true;
  readonly kinds?: readonly string[];
  readonly types?: readonly string[];
  readonly headers?: readonly string[];
  /** The routine changes, too. */
  readonly all: boolean;
}

/**
 * The parameters of Changes in REST for the options of a command.
 *
 * @param domains As readDomains() takes them, and `*.NAME` for all below a name.
 * @throws as readDomains() does.
 */
export async function changeParameters(
  context: CommandContext,
  domains: readonly string[],
  { registrableDomain, watched, kinds, types, headers, all }: ChangeOptions,
): Promise<QueryParameters> {
  const isPattern = (text: string) => text.startsWith('*.');
  const patterns = domains.filter(isPattern).map((text) => text.toLowerCase());
  const names = await readDomains(
    context,
    domains.filter((text) => !isPattern(text)),
  );
  return {
    domains: domains.length > 0 ? [...patterns, ...names] : undefined,
    kinds,
    types,
    headers,
    registrableDomain: registrableDomain?.toLowerCase(),
    watched: watched && 'true',
    notable: all ? undefined : 'true',
  };
}

/**
 * The same names in batches, as they are read, without the duplicates that are near each other. Lines that are no names are
 * counted, and the first ones are shown.
 *
 * @throws UsageError as parseDomain() does, at once; OperationError where a file cannot be read.
 */
export function domainBatches(
  context: CommandContext,
  texts: readonly string[],
  file: string | undefined,
  counts: { rejected: number },
): AsyncGenerator<readonly string[]> {
  const named = new Set(texts.filter((text) => text !== '-').map(parseDomain));
  const files = new Set([...(texts.includes('-') ? ['-'] : []), ...(file === undefined ? [] : [file])]);
  return (async function* () {
    if (named.size > 0) yield [...named];
    for (const each of files) yield* readNames(context, each, counts);
  })();
}

/** @param consequence What follows for the other lines. @throws OperationError if a line was no name. */
export function failIfRejected(rejected: number, consequence: string): void {
  if (rejected === 0) return;
  const lines = counted(rejected, 'line is not a domain name', 'lines are not domain names');
  throw new OperationError(`${lines}; ${consequence}.`);
}

/** The canonical name of a domain. @throws UsageError, which gives the name if one can be told from the text. */
export function parseDomain(text: string): string {
  try {
    return parseDomainName(text);
  } catch (error) {
    if (!(error instanceof InvalidDomainError)) throw error;
    throw new UsageError(explain(text, error.message), { cause: error });
  }
}

function explain(text: string, complaint: string): string {
  if (isIpv4(text)) {
    const name = `${text.split('.').reverse().join('.')}.in-addr.arpa`;
    return `${complaint} Write a name; that of the address itself is ${name}.`;
  }
  if (isIpv6(text)) {
    return `${complaint} Write a name; that of the address itself is the one that it has in ip6.arpa.`;
  }
  const { host } = parseAddress(text);
  if (host === text || attempt(() => parseDomainName(host)) === undefined) return complaint;
  return `${quoted(text)} is not a domain name: write ${host}.`;
}

/** How many rejected names are shown with their reasons. */
const REASONS_SHOWN = 10;

/** Names passed on at once. */
const BATCH = 5_000;

/** Reads a file of names, one per line; `#` begins a comment. */
async function* readNames(
  context: CommandContext,
  file: string,
  counts: { rejected: number },
): AsyncGenerator<readonly string[]> {
  let [done, items] = [0, 0];
  const input = await openInput(file, context.stdin, (bytes) => {
    done += bytes;
  });
  const hideProgress = showProgress(context.notes, 'names', () => ({ done, total: input.size, items }));
  const reject = ({ number }: Line, reason: string) => {
    counts.rejected += 1;
    if (counts.rejected <= REASONS_SHOWN) context.stderr.write(`line ${number} rejected: ${reason}\n`);
  };
  const batch = new Set<string>();
  const longest = context.settings().limits.line;
  try {
    for await (const lines of readLines(input.bytes, longest)) {
      for (const line of lines) {
        items += 1;
        const name = nameIn(line, longest, reject);
        if (name !== '') batch.add(name);
      }
      if (batch.size < BATCH) continue;
      yield [...batch];
      batch.clear();
    }
    if (batch.size > 0) yield [...batch];
  } finally {
    hideProgress();
  }
}

/** Empty for a comment, a blank line or a rejected one. */
function nameIn(line: Line, longest: number, reject: (line: Line, reason: string) => void): string {
  try {
    const name = textOf(line, longest).replace(/#.*/, '').trim();
    return name === '' ? '' : parseDomain(name);
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof InvalidObservationError)) throw error;
    reject(line, error.message);
    return '';
  }
}
