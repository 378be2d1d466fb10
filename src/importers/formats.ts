import { InvalidObservationError, OperationError } from '../model/errors.js';
import type { Instant } from '../model/instant.js';
import { type ObservationLimits, requireWithinLimits } from '../model/observation.js';
import { parseDmsLine } from './dms.js';
import { toolOf } from './foreign-input.js';
import { createHttpxParser } from './httpx.js';
import type { ParseLine } from './import-lines.js';
import { parseJsonLine } from './json-line.js';

/** The formats that are read. */
export const IMPORT_FORMATS = ['dms', 'httpx'] as const;

export type ImportFormat = (typeof IMPORT_FORMATS)[number];

export interface FormatOptions {
  /** The input as a message names it. */
  readonly name: string;
  /** The wall clock. */
  readonly now: () => Instant;
  /** Field names in lower case that the lines of other programs may have, and that are not recorded. */
  readonly ignoredHeaders: ReadonlySet<string>;
  /** What a line may hold. */
  readonly limits: ObservationLimits;
  /** Told of the format that `auto` has found. */
  readonly onDetected: (format: ImportFormat) => void;
}

/**
 * Makes what parses the lines of one input.
 *
 * @param format `auto`: its first line that has the keys of a format tells; lines before that are refused.
 *   It throws OperationError where that line is of a tool whose lines are not read.
 */
export function createParser(format: 'auto' | ImportFormat, options: FormatOptions): ParseLine {
  if (format === 'auto') return createDetectingParser(options);
  const { now, ignoredHeaders, limits } = options;
  const parse = format === 'dms' ? parseDmsLine : createHttpxParser(ignoredHeaders);
  return (text) => {
    const observation = parse(text, now());
    requireWithinLimits(observation, limits);
    return [observation];
  };
}

function createDetectingParser(options: FormatOptions): ParseLine {
  let parse: ParseLine | undefined;
  return (text) => {
    if (parse === undefined) {
      const format = formatOf(text, options.name);
      options.onDetected(format);
      parse = createParser(format, options);
    }
    return parse(text);
  };
}

/** Keys that a line of format dms has, one of them at least, and no line of httpx. */
const DMS_KEYS = ['domain', 'observedAt', 'dnsRecords', 'httpHeaders'];

const NAMED = IMPORT_FORMATS.map((format) => `--format ${format}`).join(' or ');

function formatOf(text: string, name: string): ImportFormat {
  const line = parseJsonLine(text);
  const has = (key: string) => Object.hasOwn(line, key);
  const tool = toolOf(line);
  if (tool !== undefined) {
    throw new OperationError(
      `${name} has lines of ${tool}, which this version does not read: it reads ${IMPORT_FORMATS.join(' and ')}. ` +
        'Write them as the README says, one JSON object a line.',
    );
  }
  if (DMS_KEYS.some(has)) return 'dms';
  if (has('timestamp') && (has('url') || has('input'))) return 'httpx';
  throw new InvalidObservationError(
    `its keys tell no format: write them as the README says, or name the format by ${NAMED} to be told what is wrong.`,
  );
}
