import { attempt } from '../model/attempt.js';
import { InvalidObservationError, OperationError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';
import { type ObservationLimits, requireWithinLimits } from '../model/observation.js';
import { createCofParser } from './cof.js';
import { parseDmsLine } from './dms.js';
import { createDnsxParser } from './dnsx.js';
import { FORMATS_READ, toolOf } from './foreign-input.js';
import { createHttpxParser } from './httpx.js';
import type { ParsedLine, ParseLine } from './import-lines.js';
import type { Remark } from './import-summary.js';
import { parseJsonLine } from './json-line.js';
import { createMassdnsParser } from './massdns.js';
import { createZdnsParser } from './zdns.js';

export type ImportFormat = 'dms' | 'httpx' | 'dnsx' | 'zdns' | 'massdns' | 'cof';

interface FormatOptions {
  /** The input as a message names it. */
  readonly name: string;
  /** The wall clock. */
  readonly now: () => Instant;
  /** Field names in lower case that the lines of other programs may have, and that are not recorded. */
  readonly ignoredHeaders: ReadonlySet<string>;
  /** The time of lines without one, in the formats that may have such. */
  readonly observedAt?: Instant | undefined;
  /** What a line may hold. */
  readonly limits: ObservationLimits;
  /** Called with the format that `auto` has found. */
  readonly onDetected: (format: ImportFormat) => void;
}

/**
 * Makes what parses the lines of one input.
 *
 * @param format `auto`: decided by its first line with the keys of a format; lines before that are rejected, and lines with the
 *   keys of another format are read as that.
 *   It throws OperationError if that line is of an unsupported tool.
 */
export function createParser(format: 'auto' | ImportFormat, options: FormatOptions): ParseLine {
  if (format === 'auto') return createDetectingParser(options);
  const { now, limits } = options;
  const parse = FORMATS[format].createParser(options);
  const parseLine = (text: string) => {
    try {
      const line = parse(text, now());
      for (const observation of line.observations) requireWithinLimits(observation, limits);
      return line;
    } catch (error) {
      const other = detectedFormat(text);
      if (other === null || other === format) throw error;
      throw new InvalidObservationError(
        `the line is in format ${other}, but is read as ${format}: import lines of ${other} with --format ${other}, ` +
          'from a file of their own.',
      );
    }
  };
  const { isUnordered = false } = FORMATS[format];
  return Object.assign(parseLine, {
    ...(parse.atEnd && { atEnd: parse.atEnd }),
    ...(parse.foresee && { foresee: parse.foresee }),
    isUnordered: () => isUnordered,
  });
}

/** Null for a line that is invalid, or whose keys tell no format. */
function detectedFormat(text: string): ImportFormat | null {
  return attempt(() => formatOf(parseJsonLine(text))) ?? null;
}

/** The format of the first line is that of the others, but for those that have the keys of another, and are invalid in it. */
function createDetectingParser(options: FormatOptions): ParseLine {
  const parsers = new Map<ImportFormat, ParseLine>();
  let first: ImportFormat | undefined;
  const parserOf = (format: ImportFormat) => {
    const known = parsers.get(format);
    if (known !== undefined) return known;
    options.onDetected(format);
    const parse = createParser(format, options);
    parsers.set(format, parse);
    return parse;
  };
  const parseLine = (text: string) => {
    first ??= formatOfFirst(text, options.name);
    try {
      return parserOf(first)(text);
    } catch (error) {
      const format = error instanceof InvalidObservationError ? detectedFormat(text) : null;
      if (format === null || format === first) throw error;
      return parserOf(format)(text);
    }
  };
  return Object.assign(parseLine, {
    foresee: (text: string) => {
      first ??= formatOfFirst(text, options.name);
      parserOf(first).foresee?.(text);
    },
    atEnd: () => [...parsers.values()].flatMap((parse) => parse.atEnd?.() ?? []),
    isUnordered: () => first !== undefined && FORMATS[first].isUnordered === true,
  });
}

/** Whether a line has a key. */
type Has = (key: string) => boolean;

interface Format {
  /** What its lines are told by, for messages. */
  readonly keys: string;
  /** Whether a line with such keys is of it. */
  isOf(has: Has): boolean;
  /** Whether the order of its lines has no meaning. */
  readonly isUnordered?: true;
  createParser(options: FormatOptions): {
    (text: string, now: Instant): ParsedLine;
    readonly atEnd?: () => readonly Remark[];
    readonly foresee?: (text: string) => void;
  };
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

const IMPORT_FORMATS = Object.keys(FORMATS) as readonly ImportFormat[];

/** Null for a line whose keys tell none. */
function formatOf(line: Readonly<Record<string, unknown>>): ImportFormat | null {
  return IMPORT_FORMATS.find((format) => FORMATS[format].isOf((key) => Object.hasOwn(line, key))) ?? null;
}

function formatOfFirst(text: string, name: string): ImportFormat {
  const line = parseJsonLine(text);
  const tool = toolOf(line);
  if (tool !== undefined) {
    throw new OperationError(`${name} has lines of ${tool}, and nothing of it is imported: ${FORMATS_READ}.`);
  }
  const format = formatOf(line);
  if (format !== null) return format;
  const keys = IMPORT_FORMATS.map((name) => `${name}: ${FORMATS[name].keys}`).join('; ');
  throw new InvalidObservationError(
    `its keys are of no known format (${keys}). Name the format, such as --format dms, to see what is wrong.`,
  );
}
