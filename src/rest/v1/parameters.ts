import { attempt } from '../../model/attempt.js';
import { InvalidDomainError, invalidParameter, readArgument } from '../../model/errors.js';
import { formatInstant, type Instant } from '../../model/instant.js';
import { parseRequestedTime, timeBack } from '../../model/requested-time.js';
import { quoted } from '../../model/text.js';
import { adviceOnTime } from '../../model/what-is-new.js';

/** As openapi.yaml has it. The stored operation gets it as the variable of its name. */
export interface Parameter {
  readonly name: string;
  /** Absent: it is in the query. */
  readonly in?: 'path';
  readonly description: string;
  /** Whether a query must have it: one in the path is always there. */
  readonly required?: boolean;
  /** Whether a client may leave `:`, `/` and the like as they are: no value has what ends a value. */
  readonly allowReserved?: boolean;
  readonly schema: ValueSchema;
  /** Of one value, that the sample observations have an answer for, where it can be one. */
  readonly example: string | number | boolean;
}

/** What decides how a value is read: what is not checked here, the operation checks. */
interface ValueSchema {
  readonly type?: 'string' | 'integer' | 'boolean' | 'array';
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: unknown;
  readonly items?: ValueSchema;
  readonly anyOf?: readonly object[];
}

export type Variables = Readonly<Record<string, unknown>>;

export interface Requested {
  readonly variables: Variables;
  /** The query, with the instants that its durations mean. */
  readonly query: URLSearchParams;
  /** What the durations of the query are counted back from; null: it has none. */
  readonly countedFrom: Instant | null;
}

/** A time may be a duration. */
export function isTime({ schema }: Parameter): boolean {
  return schema.anyOf !== undefined;
}

/**
 * @param segment The domain in the request's path, percent-encoded; undefined: the operation's path has none.
 * @param query Is changed and returned. Durations are counted back from now, or the instant in its cursor.
 * @throws PublicError for a parameter that is not valid, is missing or given twice, and for an unknown one.
 */
export function readParameters(
  all: readonly Parameter[],
  segment: string | undefined,
  query: URLSearchParams,
): Requested {
  const ofPath = segment === undefined ? {} : { domain: decodeDomain(segment) };
  const parameters = all.filter((parameter) => parameter.in !== 'path');
  const known = parameters.map(({ name }) => name);
  const unknown = [...query.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const advice = segment !== undefined ? '' : adviceOnTime(unknown);
    const has = `This operation has: ${known.join(', ') || 'none'}.`;
    throw invalidParameter(`Unknown query parameter ${quoted(unknown)}. ${has}${advice}`);
  }
  const missing = parameters.filter(({ name, required }) => required === true && !query.has(name));
  if (missing.length > 0) {
    const names = missing.map(({ name }) => name).join(' and ');
    throw invalidParameter(`The query must have the parameter${missing.length > 1 ? 's' : ''} ${names}.`);
  }
  // What cursorOf() made. Whether it is of the question, the operation decides: the instants are part of that.
  const [, cursor, carried] = /^(.*)\.(\d{1,18})$/.exec(query.get('after') ?? '') ?? [];
  if (cursor !== undefined) query.set('after', cursor);
  const now = BigInt(carried ?? Date.now() * 1_000);
  const variables = Object.fromEntries(
    parameters.map((each) => [each.name, readValues(each, query.getAll(each.name), now)]),
  );
  const durations = parameters.filter(
    (each) => isTime(each) && timeBack(query.get(each.name) ?? '') !== undefined,
  );
  for (const { name } of durations) query.set(name, String(variables[name]));
  return { variables: { ...ofPath, ...variables }, query, countedFrom: durations.length === 0 ? null : now };
}

/** The durations of a question mean the same instants on all of its pages, those of `countedFrom`. */
export function cursorOf(cursor: string, countedFrom: Instant | null): string {
  return countedFrom === null ? cursor : `${cursor}.${countedFrom}`;
}

function readValues(parameter: Parameter, texts: readonly string[], now: Instant): unknown {
  const { name, schema } = parameter;
  const [text] = texts;
  if (text === undefined) return schema.default;
  if (schema.type !== 'array') {
    if (texts.length > 1) throw invalidParameter(`The query parameter ${name} is given more than once.`);
    return isTime(parameter) ? readTime(name, text, now) : readValue(name, schema, text);
  }
  // No value of such a parameter has one.
  if (texts.some((each) => each.includes(','))) {
    throw invalidParameter(`${name}: write the parameter once for each value, as in ${name}=…&${name}=….`);
  }
  return texts.map((each) => readValue(name, schema.items ?? {}, each));
}

function readValue(name: string, { type, enum: values, minimum, maximum }: ValueSchema, text: string) {
  if (type === 'integer') {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= Number(minimum) && number <= Number(maximum)) return number;
    throw invalidParameter(`${name} must be an integer from ${minimum} to ${maximum}.`);
  }
  if (type === 'boolean') {
    if (text === 'true' || text === 'false') return text === 'true';
    throw invalidParameter(`${name} must be true or false.`);
  }
  if (values === undefined || values.includes(text)) return text;
  throw invalidParameter(`${name}: ${quoted(text)} is not one of ${values.join(', ')}.`);
}

function readTime(name: string, text: string, now: Instant): string {
  // A `+` in a query is a space (WHATWG URL, application/x-www-form-urlencoded): clients may leave it.
  const time = text.replace(/ (?=\d\d:\d\d$)/, '+');
  return readArgument(name, () => formatInstant(parseRequestedTime(time, now)));
}

/** The name of a domain in a path: whether it is one, the operation decides. */
function decodeDomain(segment: string): string {
  // Node.js before 20.20 lets octets outside ASCII pass.
  const name = /^[ -~]*$/.test(segment) ? attempt(() => decodeURIComponent(segment)) : undefined;
  if (name !== undefined) return name;
  throw new InvalidDomainError(
    `${quoted(segment)} is not a domain name: it is not percent-encoded UTF-8 (RFC 3986, section 2.1).`,
  );
}
