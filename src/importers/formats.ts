import { attempt } from '../model/attempt.js';
import { InvalidObservationError, invalidValue } from '../model/errors.js';
import type { Instant } from '../model/instant.js';
import { readOr } from '../model/json-values.js';
import { type ObservationLimits, requireWithinLimits } from '../model/observation.js';
import { createCofParser } from './cof.js';
import { parseDmsLine } from './dms.js';
import type { AnswerOptions } from './dns-answers.js';
import { createDnsxParser } from './dnsx.js';
import { createHttpxParser } from './httpx.js';
import { IMPORT_FORMATS, type ImportFormat } from './import-format.js';
import { type FormatParser, parseJsonLine } from './json-line.js';
import { type Line, type ParsedLine, textOf } from './lines.js';
import { createMassdnsParser } from './massdns.js';
import { createZdnsParser } from './zdns.js';

interface ParserOptions extends AnswerOptions {
  /** Field names in lower case, which are not recorded of other programs' lines. */
  readonly ignoredHeaders: ReadonlySet<string>;
  /** `line` in bytes. */
  readonly limits: ObservationLimits & { readonly line: number };
  readonly now: () => Instant;
  /** Called for each format that `auto` finds. */
  readonly onDetected: (format: ImportFormat) => void;
}

interface Format {
  /** Those of its lines, in each of their forms; with `!` those that they do not have. */
  readonly keys: readonly string[];
  createParser(options: ParserOptions): FormatParser;
}

const FORMATS: Readonly<Record<ImportFormat, Format>> = {
  dms: {
    keys: ['domain observedAt', 'domain', 'observedAt', 'dnsRecords', 'httpHeaders'],
    createParser: () => (text, now) => ({ observations: [parseDmsLine(text, now)] }),
  },
  httpx: {
    keys: ['timestamp url', 'timestamp input'],
    createParser: ({ ignoredHeaders }) => createHttpxParser(ignoredHeaders),
  },
  dnsx: {
    keys: ['host all', 'host resolver', 'host status_code !url !input'],
    createParser: createDnsxParser,
  },
  zdns: { keys: ['name results', 'name status data !type'], createParser: createZdnsParser },
  massdns: { keys: ['name type class status', 'name error !status'], createParser: createMassdnsParser },
  cof: { keys: ['rrname rrtype', 'obj', 'cond'], createParser: createCofParser },
};

export class InputParser {
  readonly #options: ParserOptions;
  readonly #isNamed: boolean;
  format: ImportFormat | undefined;
  readonly #parsers = new Map<ImportFormat, FormatParser>();

  /**
   * @param format `auto`: decided by the first line with the keys of a format; lines before that are rejected,
   *   and lines with the keys of another format are read as that.
   */
  constructor(format: 'auto' | ImportFormat, options: ParserOptions) {
    this.#options = options;
    this.#isNamed = format !== 'auto';
    this.format = format === 'auto' ? undefined : format;
  }

  get longestLine(): number {
    return this.#options.limits.line;
  }

  parse(line: Line): ParsedLine {
    const read = () => this.#parse(textOf(line, this.longestLine));
    return readOr(read, (rejected): ParsedLine => ({ observations: [], rejected }));
  }

  #parse(text: string): ParsedLine {
    this.format ??= formatOf(text);
    const { format } = this;
    try {
      return this.#parseAs(format, text);
    } catch (error) {
      const other = error instanceof InvalidObservationError ? attempt(() => formatOf(text)) : undefined;
      if (other === undefined || other === format) throw error;
      if (!this.#isNamed) return this.#parseAs(other, text);
      throw invalidValue(
        `the line is in format ${other}, but is read as ${format}: ` +
          `import lines of ${other} with --format ${other}, from a file of their own.`,
      );
    }
  }

  #parseAs(format: ImportFormat, text: string): ParsedLine {
    let parse = this.#parsers.get(format);
    if (parse === undefined) {
      if (!this.#isNamed) this.#options.onDetected(format);
      parse = FORMATS[format].createParser(this.#options);
      this.#parsers.set(format, parse);
    }
    const line = parse(text, this.#options.now());
    for (const observation of line.observations) requireWithinLimits(observation, this.#options.limits);
    return line;
  }
}

function formatOf(text: string): ImportFormat {
  const line = parseJsonLine(text);
  const isMet = (key: string) => Object.hasOwn(line, key.replace('!', '')) !== key.startsWith('!');
  const found = IMPORT_FORMATS.find((format) =>
    FORMATS[format].keys.some((keys) => keys.split(' ').every(isMet)),
  );
  if (found !== undefined) return found;
  const known = IMPORT_FORMATS.map((format) => `${format}: ${FORMATS[format].keys[0]}`).join('; ');
  throw invalidValue(
    `its keys are of no known format (${known}). Name the format, such as --format dms, to see what is wrong.`,
  );
}
