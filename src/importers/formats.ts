import { InvalidObservationError, OperationError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';
import { type ObservationLimits, requireWithinLimits } from '../model/observation.js';
import { parseDmsLine } from './dms.js';
import { FORMATS_READ, toolOf } from './foreign-input.js';
import { createHttpxParser } from './httpx.js';
import type { ParseLine } from './import-lines.js';
import { parseJsonLine } from './json-line.js';

/** The formats that are read. */
export type ImportFormat = 'dms' | 'httpx';

interface FormatOptions {
  /** The input as a message names it. */
  readonly name: string;
  /** The wall clock. */
  readonly now: () => Instant;
  /** Field names in lower case that the lines of other programs may have, and that are not recorded. */
  readonly ignoredHeaders: ReadonlySet<string>;
  /** What a line may hold. */
  readonly limits: ObservationLimits;
  /** Called with the format that `auto` has found. */
  readonly onDetected: (format: ImportFormat) => void;
}

/**
 * Makes what parses the lines of one input.
 *
 * @param format `auto`: decided by its first line with the keys of a format; lines before that are rejected.
 *   It throws OperationError if that line is of an unsupported tool.
 */
export function createParser(format: 'auto' | ImportFormat, options: FormatOptions): ParseLine {
  if (format === 'auto') return createDetectingParser(options);
  const { now, ignoredHeaders, limits } = options;
  const parse = format === 'dms' ? parseDmsLine : createHttpxParser(ignoredHeaders);
  return (text) => {
    try {
      const observation = parse(text, now());
      requireWithinLimits(observation, limits);
      return observation;
    } catch (error) {
      const other = format === 'dms' ? 'httpx' : 'dms';
      if (detectedFormat(text) !== other) throw error;
      throw new InvalidObservationError(
        `the line is in format ${other}, but is read as ${format}: import lines of ${other} with --format ${other}, ` +
          'from a file of their own.',
      );
    }
  };
}

/** Null for a line that is invalid, or whose keys tell no format. */
function detectedFormat(text: string): ImportFormat | null {
  try {
    return formatOf(parseJsonLine(text));
  } catch {
    return null;
  }
}

function createDetectingParser(options: FormatOptions): ParseLine {
  let parse: ParseLine | undefined;
  return (text) => {
    if (parse === undefined) {
      const format = formatOfFirst(text, options.name);
      options.onDetected(format);
      parse = createParser(format, options);
    }
    return parse(text);
  };
}

/** Keys that a line of format dms has, one of them at least, and no line of httpx. */
const DMS_KEYS = ['domain', 'observedAt', 'dnsRecords', 'httpHeaders'];

/** Null for a line whose keys tell none. */
function formatOf(line: Readonly<Record<string, unknown>>): ImportFormat | null {
  const has = (key: string) => Object.hasOwn(line, key);
  if (DMS_KEYS.some(has)) return 'dms';
  return has('timestamp') && (has('url') || has('input')) ? 'httpx' : null;
}

function formatOfFirst(text: string, name: string): ImportFormat {
  const line = parseJsonLine(text);
  const tool = toolOf(line);
  if (tool !== undefined) {
    throw new OperationError(`${name} has lines of ${tool}, and nothing of it is imported: ${FORMATS_READ}.`);
  }
  const format = formatOf(line);
  if (format !== null) return format;
  throw new InvalidObservationError(
    'its keys are of no known format: lines of dms have domain and observedAt, those of httpx timestamp and url. ' +
      'Name the format, --format dms or --format httpx, to see what is wrong.',
  );
}
