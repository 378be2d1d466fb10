import { attempt } from '../model/attempt.js';
import { InvalidObservationError, OperationError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';
import { readOr } from '../model/json-values.js';
import { requireWithinLimits } from '../model/observation.js';
import { createCofParser } from './cof.js';
import { parseDmsLine } from './dms.js';
import type { AnswerOptions } from './dns-answers.js';
import { createDnsxParser } from './dnsx.js';
import { FORMATS_READ } from './foreign-input.js';
import { createHttpxParser } from './httpx.js';
import { type FormatParser, type Json, parseJsonLine } from './json-line.js';
import { type Line, type ParsedLine, type Remark, textOf } from './lines.js';
import { createMassdnsParser } from './massdns.js';
import { createZdnsParser } from './zdns.js';

export type ImportFormat = 'dms' | 'httpx' | 'dnsx' | 'zdns' | 'massdns' | 'cof';

interface FormatOptions extends AnswerOptions {
  /** Field names in lower case that the lines of other programs may have, and that are not recorded. */
  readonly ignoredHeaders: ReadonlySet<string>;
}

interface InputOptions extends FormatOptions {
  /** The input as a message names it. */
  readonly name: string;
  /** The wall clock. */
  readonly now: () => Instant;
  /** Called with each format that `auto` has found. */
  readonly onDetected: (format: ImportFormat) => void;
}

/** Parses the lines of one input. */
export class InputParser {
  readonly #options: InputOptions;
  readonly #isNamed: boolean;
  #format: ImportFormat | undefined;
  readonly #parsers = new Map<ImportFormat, FormatParser>();

  /**
   * @param format `auto`: decided by the first line with the keys of a format; lines before that are rejected,
   *   and lines with the keys of another format are read as that.
   */
  constructor(format: 'auto' | ImportFormat, options: InputOptions) {
    this.#options = options;
    this.#isNamed = format !== 'auto';
    if (format !== 'auto') this.#format = format;
  }

  /** Whether the order of the lines has no meaning, as far as they were read. */
  get isUnordered(): boolean {
    return this.#format !== undefined && FORMATS[this.#format].isUnordered === true;
  }

  /**
   * Takes a line that will be parsed later for what it shows of others.
   *
   * @throws OperationError as parse() does.
   */
  foresee(line: Line): void {
    const take = (text: string) => this.#parserOf(this.#formatOf(text)).foresee?.(text);
    readOr(
      () => take(textOf(line)),
      () => {},
    );
  }

  /** @returns why a line is rejected, or what it says. @throws OperationError if the first is of a tool not read. */
  parse(line: Line): ParsedLine | string {
    return readOr(
      () => this.#parse(textOf(line)),
      (reason) => reason,
    );
  }

  /** What the input as a whole could not tell, after its last line. */
  atEnd(): readonly Remark[] {
    return [...this.#parsers.values()].flatMap((parse) => parse.atEnd?.() ?? []);
  }

  #parse(text: string): ParsedLine {
    const format = this.#formatOf(text);
    try {
      return this.#parseAs(format, text);
    } catch (error) {
      const other = error instanceof InvalidObservationError ? detectedFormat(text) : null;
      if (other === null || other === format) throw error;
      if (!this.#isNamed) return this.#parseAs(other, text);
      throw new InvalidObservationError(
        `the line is in format ${other}, but is read as ${format}: import lines of ${other} with --format ${other}, ` +
          'from a file of their own.',
      );
    }
  }

  #formatOf(text: string): ImportFormat {
    this.#format ??= formatOfFirst(text, this.#options.name);
    return this.#format;
  }

  #parseAs(format: ImportFormat, text: string): ParsedLine {
    const line = this.#parserOf(format)(text, this.#options.now());
    for (const observation of line.observations) requireWithinLimits(observation, this.#options.limits);
    return line;
  }

  #parserOf(format: ImportFormat): FormatParser {
    const known = this.#parsers.get(format);
    if (known !== undefined) return known;
    if (!this.#isNamed) this.#options.onDetected(format);
    const parser = FORMATS[format].createParser(this.#options);
    this.#parsers.set(format, parser);
    return parser;
  }
}

/** Null for a line that is invalid, or whose keys tell no format. */
function detectedFormat(text: string): ImportFormat | null {
  return attempt(() => formatOf(parseJsonLine(text))) ?? null;
}

type Has = (key: string) => boolean;

interface Format {
  /** What its lines are told by, for messages. */
  readonly keys: string;
  /** Whether a line with such keys is of it. */
  isOf(has: Has): boolean;
  /** Whether the order of its lines has no meaning. */
  readonly isUnordered?: true;
  createParser(options: FormatOptions): FormatParser;
}

/** Keys that a line of format dms has, one of them at least, and no line of another. */
const DMS_KEYS = ['domain', 'observedAt', 'dnsRecords', 'httpHeaders'];

/** In the order in which they are tried. */
const FORMATS: Readonly<Record<ImportFormat, Format>> = {
  dms: {
    keys: 'domain and observedAt',
    isOf: (has) => DMS_KEYS.some(has),
    createParser: () => (text, now) => ({ observations: [parseDmsLine(text, now)] }),
  },
  httpx: {
    keys: 'timestamp and url',
    isOf: (has) => has('timestamp') && (has('url') || has('input')),
    createParser: ({ ignoredHeaders }) => createHttpxParser(ignoredHeaders),
  },
  dnsx: {
    keys: 'host and all',
    isOf: (has) =>
      has('host') && (has('resolver') || has('all') || (has('status_code') && !has('url') && !has('input'))),
    createParser: createDnsxParser,
  },
  zdns: {
    keys: 'name and results',
    isOf: (has) => has('name') && (has('results') || (has('status') && has('data') && !has('type'))),
    createParser: createZdnsParser,
  },
  massdns: {
    keys: 'name, type and status',
    isOf: (has) => has('name') && (has('status') ? has('type') && has('class') : has('error')),
    createParser: createMassdnsParser,
  },
  cof: {
    keys: 'rrname and rrtype',
    isOf: (has) => (has('rrname') && has('rrtype')) || has('obj') || has('cond'),
    isUnordered: true,
    createParser: createCofParser,
  },
};

/** Tools whose lines are known by their keys, and not read. */
const OTHER_TOOLS: readonly (readonly [tool: string, matches: (has: Has) => boolean])[] = [
  ['amass', (has) => has('name') && has('domain') && (has('addresses') || has('sources'))],
  ['subfinder', (has) => has('host') && has('input') && has('source') && !has('timestamp')],
];

const IMPORT_FORMATS = Object.keys(FORMATS) as readonly ImportFormat[];

function formatOf(line: Json): ImportFormat | null {
  return IMPORT_FORMATS.find((format) => FORMATS[format].isOf(keysOf(line))) ?? null;
}

function keysOf(line: Json): Has {
  return (key) => Object.hasOwn(line, key);
}

function formatOfFirst(text: string, name: string): ImportFormat {
  const line = parseJsonLine(text);
  const [tool] = OTHER_TOOLS.find(([, matches]) => matches(keysOf(line))) ?? [];
  if (tool !== undefined) {
    throw new OperationError(`${name} has lines of ${tool}, and nothing of it is imported: ${FORMATS_READ}.`);
  }
  const format = formatOf(line);
  if (format !== null) return format;
  const keys = IMPORT_FORMATS.map((each) => `${each}: ${FORMATS[each].keys}`).join('; ');
  throw new InvalidObservationError(
    `its keys are of no known format (${keys}). Name the format, such as --format dms, to see what is wrong.`,
  );
}
