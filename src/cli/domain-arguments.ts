import { parseAddress } from '../importers/httpx.js';
import { type Line, readLines, textOf } from '../importers/lines.js';
import { openInput } from '../importers/open-input.js';
import { attempt } from '../model/attempt.js';
import { parseDomainName } from '../model/domain-name.js';
import { InvalidDomainError, InvalidObservationError, OperationError, UsageError } from '../model/errors.js';
import type { QueryParameters } from '../model/request-target.js';
import { quoted } from '../model/text.js';
import type { CommandContext } from './command-context.js';
import { counted, REJECTED_LINES_SHOWN } from './output.js';

/**
 * Canonical names, each once; `-` stands for those of standard input, one a line, as in a file.
 *
 * @throws UsageError as parseDomain() does; OperationError if a line is no name, or these inputs name none: no
 * name means all domains to some commands.
 */
export async function readDomains(context: CommandContext, texts: readonly string[], file?: string) {
  const { names, rejected } = await readNames(context, texts, file);
  failIfRejected(rejected, 'correct them, since nothing was done');
  if (names.length > 0 || (texts.length === 0 && file === undefined)) return names;
  const where = texts.includes('-') ? 'Standard input' : file;
  throw new OperationError(`${where} names no domain: write one name per line.`);
}

/** As readDomains(), but counts the lines that are no names: the first ones are shown, with the reason. */
export async function readNames(context: CommandContext, texts: readonly string[], file?: string) {
  const names = new Set(texts.filter((text) => text !== '-').map(parseDomain));
  const files = [texts.find((text) => text === '-'), file].filter((each) => each !== undefined);
  let rejected = 0;
  for (const each of new Set(files)) {
    const { bytes } = await openInput(each, context.stdin, () => {});
    for await (const lines of readLines(bytes, context.settings().limits.line)) {
      for (const line of lines) {
        const reason = addName(names, line);
        if (reason === null) continue;
        rejected += 1;
        if (rejected <= REJECTED_LINES_SHOWN)
          context.stderr.write(`line ${line.number} rejected: ${reason}\n`);
      }
    }
  }
  return { names: [...names], rejected };
}

/** @returns why the line is rejected, or null. */
function addName(names: Set<string>, line: Line): string | null {
  try {
    const name = textOf(line).replace(/#.*/, '').trim();
    if (name !== '') names.add(parseDomain(name));
    return null;
  } catch (error) {
    if (error instanceof UsageError || error instanceof InvalidObservationError) return error.message;
    throw error;
  }
}

export function failIfRejected(rejected: number, consequence: string): void {
  if (rejected === 0) return;
  const lines = counted(rejected, 'line is not a domain name', 'lines are not domain names');
  throw new OperationError(`${lines}; ${consequence}.`);
}

/** @throws UsageError, which says for a web address which name to write. */
export function parseDomain(text: string): string {
  try {
    return parseDomainName(text);
  } catch (error) {
    if (!(error instanceof InvalidDomainError)) throw error;
    const { host } = parseAddress(text);
    const isAddress = host !== text && attempt(() => parseDomainName(host)) !== undefined;
    throw new UsageError(isAddress ? `${quoted(text)} is not a domain name: write ${host}.` : error.message);
  }
}

export interface ChangeOptions {
  readonly registrableDomain?: string;
  readonly watched?: true;
  readonly kinds?: readonly string[];
  readonly types?: readonly string[];
  readonly headers?: readonly string[];
  readonly all: boolean;
}

/** Those of Changes in REST. @param domains As readDomains() has them, and `*.NAME` for all below a name. */
export async function changeParameters(
  context: CommandContext,
  domains: readonly string[],
  { registrableDomain, watched, kinds, types, headers, all }: ChangeOptions,
): Promise<QueryParameters> {
  const patterns = domains.filter((text) => text.startsWith('*.'));
  const others = domains.filter((text) => !text.startsWith('*.'));
  const names = await readDomains(context, others);
  return {
    domains: domains.length > 0 ? [...patterns.map((text) => text.toLowerCase()), ...names] : undefined,
    kinds,
    types,
    headers,
    registrableDomain: registrableDomain?.toLowerCase(),
    watched: watched && 'true',
    notable: all ? undefined : 'true',
  };
}
