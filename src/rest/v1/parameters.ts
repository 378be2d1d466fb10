import { MOST_OF_PAGE } from '../../model/cursor.js';
import { InvalidDomainError, InvalidObservationError, PublicError } from '../../model/errors.js';
import { formatInstant, type Instant } from '../../model/instant.js';
import { parseRequestedTime, timeBack } from '../../model/requested-time.js';
import { quoted } from '../../model/text.js';
import { adviceOnTime } from '../../model/what-is-new.js';
import type { Schema } from './json-schema.js';

/** A parameter of a route's path or query, and the variable of its name that the stored operation gets. */
export interface Parameter {
  readonly description: string;
  /** Of the value. `default` is what an absent one means; one of type `array` may be given several times. */
  readonly schema: Schema;
  /** As a query has it: a value that the sample observations have an answer for, where it can be one. */
  readonly example: string;
  /** Whether a client may leave `:`, `/` and the like as they are: no value has what ends a value. */
  readonly allowReserved?: boolean;
  /** Whether a query must have it: one in the path is always there. */
  readonly required?: boolean;
  /** Whether it is a time, which may be a duration. */
  readonly isTime?: boolean;
  /**
   * The value of the variable.
   *
   * @param text Of the path percent-encoded as it came, of the query decoded.
   * @param now What durations are counted back from.
   * @throws PublicError with `errorCode` that says what is wrong with it.
   */
  readonly read: (text: string, now: Instant) => unknown;
  readonly errorCode: 'INVALID_DOMAIN' | 'INVALID_PARAMETER' | 'INVALID_CURSOR';
}

/** The parameters of a route, by name. Those that its path does not name are in the query. */
export type ParameterTable = Readonly<Record<string, Parameter>>;

/** The variables of a stored operation. */
export type Variables = Readonly<Record<string, unknown>>;

/** What a request asks for. */
export interface Requested {
  readonly variables: Variables;
  /** The query, with the instants that its durations mean. */
  readonly query: URLSearchParams;
  /** What the durations of the query are counted back from; null: it has none. */
  readonly countedFrom: Instant | null;
}

/** Whether a route's path names the parameter; otherwise it is in the query. */
export function isInPath(path: string, name: string): boolean {
  return path.split('/').includes(`{${name}}`);
}

/**
 * Reads a request's parameters.
 *
 * @param segments Of the request's path, as those of the route's.
 * @param url Of the request: its query counts.
 * @param now When it arrived. With a cursor that carries another instant, durations are counted back from that one.
 * @throws PublicError for a parameter that is not valid, is missing or given twice, and for an unknown one.
 */
export type ReadParameters = (
  segments: readonly string[],
  url: string | undefined,
  now: Instant,
) => Requested;

/** Makes the reader of a route's parameters. */
export function parameterReader(path: string, table: ParameterTable): ReadParameters {
  const parameters = Object.entries(table);
  const inPath = parameters.flatMap(([name, { read }]) => {
    const at = path.split('/').indexOf(`{${name}}`);
    return at === -1 ? [] : [{ name, read, at }];
  });
  const inQuery = parameters.filter(([name]) => !isInPath(path, name));
  return (segments, url = '', now) => {
    const variables: Record<string, unknown> = {};
    for (const { name, read, at } of inPath) variables[name] = read(segments[at] ?? '', now);
    const { variables: ofQuery, ...requested } = readQuery(inQuery, isInPath(path, 'domain'), url, now);
    return { variables: { ...variables, ...ofQuery }, ...requested };
  };
}

function readQuery(
  parameters: readonly (readonly [string, Parameter])[],
  isOfDomain: boolean,
  url: string,
  arrived: Instant,
): Requested {
  const query = new URLSearchParams(/\?(.*)$/s.exec(url)?.[1]);
  const known = parameters.map(([name]) => name);
  const unknown = [...query.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const all = known.length === 0 ? 'none' : known.join(', ');
    const advice = isOfDomain ? '' : adviceOnTime(unknown);
    throw invalid(`Unknown query parameter ${quoted(unknown)}. This operation has: ${all}.${advice}`);
  }
  const missing = parameters.filter(([name, { required }]) => required === true && !query.has(name));
  if (missing.length > 0) {
    const names = missing.map(([name]) => name).join(' and ');
    throw invalid(`The query must have ${missing.length > 1 ? 'the parameters' : 'the parameter'} ${names}.`);
  }
  const { cursor, carried } = cursorIn(query);
  if (cursor !== undefined) query.set('after', cursor);
  const now = carried ?? arrived;
  const variables = Object.fromEntries(
    parameters.map(([name, parameter]) => [name, readValues(name, parameter, query.getAll(name), now)]),
  );
  const durations = parameters.filter(
    ([name, { isTime }]) => isTime === true && timeBack(query.get(name) ?? '') !== undefined,
  );
  for (const [name] of durations) query.set(name, String(variables[name]));
  return { variables, query, countedFrom: durations.length === 0 ? null : now };
}

/**
 * The cursor of a page whose question has durations: the same durations mean the same instants on all of its pages.
 *
 * @param cursor As the operation gives it.
 * @param countedFrom What they are counted back from; null: there are none.
 */
export function cursorOf(cursor: string, countedFrom: Instant | null): string {
  return countedFrom === null ? cursor : `${cursor}.${countedFrom}`;
}

/** What cursorOf() was given. Whether it is of the question, the operation decides: the instants are part of that. */
function cursorIn(query: URLSearchParams): { readonly cursor?: string; readonly carried?: Instant } {
  const [, cursor, digits] = /^(.*)\.(\d{1,18})$/.exec(query.get('after') ?? '') ?? [];
  return cursor === undefined || digits === undefined ? {} : { cursor, carried: BigInt(digits) };
}

function readValues(
  name: string,
  { schema, read }: Parameter,
  texts: readonly string[],
  now: Instant,
): unknown {
  const [text] = texts;
  if (text === undefined) return schema['default'];
  if (schema['type'] === 'array') {
    // No value of such a parameter has one.
    if (texts.some((each) => each.includes(','))) {
      throw invalid(`${name}: write the parameter once for each value, as in ${name}=…&${name}=….`);
    }
    return texts.map((each) => read(each, now));
  }
  if (texts.length > 1) throw invalid(`The query parameter ${name} is given more than once.`);
  return read(text, now);
}

function invalid(detail: string): PublicError {
  return new PublicError('INVALID_PARAMETER', detail);
}

/** The name of a domain: whether it is one, the operation decides. */
export const DOMAIN: Parameter = {
  description:
    'The domain, in Unicode or as A-labels, in any case, with or without a final dot. At most 253 ' +
    'characters as A-labels; labels of 1 to 63 letters, digits, `-` and `_`; no IP address.',
  schema: { type: 'string', minLength: 1 },
  example: 'example.com',
  read: decodeDomain,
  errorCode: 'INVALID_DOMAIN',
};

const EARLY = '2023-05-01T00:00:00Z';

const TIME_FORMS =
  'An RFC 3339 time, a date (its midnight, UTC), a duration back from now, such as `36h`, `30d` or `2w`, or `now`.';

const TIME: Schema = {
  anyOf: [
    { type: 'string', format: 'date-time' },
    { type: 'string', format: 'date' },
    { type: 'string', pattern: '^(now|(0|[1-9][0-9]*)(ms|s|m|h|d|w))$' },
  ],
};

/** The instant of a state, and those that a question of an interval is about. */
export const AT = instant(
  'at',
  'The state at that time: as if no later observation had been recorded. At most five minutes ahead. Without it, ' +
    'everything that is recorded.',
  '2024-03-02T00:00:00Z',
);
export const FROM = instant('from', 'The earlier time.');
export const TO = instant(
  'to',
  'The later time, not before `from`. At most five minutes ahead.',
  '2023-06-01T00:00:00Z',
);

/** What a cursor looks like: each is of one question. */
export const EXAMPLE_CURSOR = 'eyd2wsSNbq_aWyJleGFtcGxlLmNvbSIsNDJd';

/** Those of a page of a list. */
export const FIRST: Parameter = {
  description:
    'How many entries at most. A page may have fewer, or none, also where `next` is not null: where entries are long, or few of many are of the kinds.',
  schema: { type: 'integer', minimum: 1, maximum: MOST_OF_PAGE, default: 100 },
  example: '100',
  read(text) {
    const first = Number(text);
    if (/^\d+$/.test(text) && first >= 1 && first <= MOST_OF_PAGE) return first;
    throw invalid(`first must be an integer from 1 to ${MOST_OF_PAGE}.`);
  },
  errorCode: 'INVALID_PARAMETER',
};
export const AFTER: Parameter = {
  description: 'The cursor `next` of the page before, of the same question. Without it, the first page.',
  schema: { type: 'string' },
  example: EXAMPLE_CURSOR,
  read: (text) => text,
  errorCode: 'INVALID_CURSOR',
};

/**
 * A parameter with a value of an enumeration of the schema.
 *
 * @param isList Whether it may be given several times.
 */
export function oneOf(
  name: string,
  values: readonly string[],
  description: string,
  options: { readonly isList: boolean; readonly default?: string; readonly example: string },
): Parameter {
  const value = { type: 'string', enum: values };
  return {
    description,
    schema: options.isList
      ? { type: 'array', items: value }
      : { ...value, ...(options.default !== undefined && { default: options.default }) },
    example: options.example,
    read(text) {
      if (values.includes(text)) return text;
      throw invalid(`${name}: ${quoted(text)} is not one of ${values.join(', ')}.`);
    },
    errorCode: 'INVALID_PARAMETER',
  };
}

/** A parameter whose text is read by the operation, as one of its times is. */
export function plainText(
  description: string,
  example: string,
  options: {
    readonly isList?: boolean;
    readonly required?: boolean;
    readonly allowReserved?: boolean;
    /** Absent: INVALID_PARAMETER. */
    readonly errorCode?: 'INVALID_DOMAIN';
  } = {},
): Parameter {
  const {
    isList = false,
    required = false,
    allowReserved = false,
    errorCode = 'INVALID_PARAMETER',
  } = options;
  const value = { type: 'string', minLength: 1 };
  return {
    description,
    schema: isList ? { type: 'array', items: value } : value,
    example,
    ...(required && { required }),
    ...(allowReserved && { allowReserved }),
    read: (text) => text,
    errorCode,
  };
}

/** A parameter that is `true` or `false`. */
export function flag(name: string, description: string): Parameter {
  return {
    description,
    schema: { type: 'boolean' },
    example: 'true',
    read(text) {
      if (text === 'true' || text === 'false') return text === 'true';
      throw invalid(`${name} must be true or false.`);
    },
    errorCode: 'INVALID_PARAMETER',
  };
}

/** A parameter that is a time. @param description What it does: what a time may be follows. */
export function instant(name: string, description: string, example = EARLY): Parameter {
  return {
    description: `${description} ${TIME_FORMS}`,
    schema: TIME,
    example,
    allowReserved: true,
    isTime: true,
    read(text, now) {
      try {
        return formatInstant(parseRequestedTime(withPlus(text), now).instant);
      } catch (error) {
        if (error instanceof InvalidObservationError) throw invalid(`${name}: ${error.message}`);
        throw error;
      }
    },
    errorCode: 'INVALID_PARAMETER',
  };
}

/** A `+` in a query is a space (WHATWG URL, application/x-www-form-urlencoded): a client may have left it as it was. */
function withPlus(time: string): string {
  return / \d\d:\d\d$/.test(time) ? `${time.slice(0, -6)}+${time.slice(-5)}` : time;
}

function decodeDomain(segment: string): string {
  // Node.js before 20.20 lets octets outside ASCII pass.
  if (/^[ -~]*$/.test(segment)) {
    try {
      return decodeURIComponent(segment);
    } catch {
      // Told below.
    }
  }
  throw new InvalidDomainError(
    `${quoted(segment)} is not a domain name: it is not percent-encoded UTF-8 (RFC 3986, section 2.1).`,
  );
}
