import { readFileSync } from 'node:fs';
import type { ExecutionResult } from 'graphql';
import type { GraphqlExecutor, Loaders, StoredOperation } from '../../graphql/execute.js';
import type { Caller } from '../../limits/caller.js';
import { type MediaType, mediaTypesOf } from './media-types.js';
import { parameterReader, type ReadParameters, type Requested, type Variables } from './parameters.js';
import { dnsRecordFragment } from './presenters/dns-records.js';
import type { Live, Route } from './routes.js';
import { tagOfOperation } from './validators.js';

/** A route, ready to run. */
export interface PreparedRoute extends Route {
  readonly readParameters: ReadParameters;
  readonly stored: StoredOperation;
  /** The same with what a table has. */
  readonly table: StoredOperation;
  readonly mediaTypes: readonly MediaType[];
  /** The operation that gives the state alone, and what entity tags of the route end in. */
  readonly validation: { readonly stored: StoredOperation; readonly tag: string } | null;
  readonly stream?: EventStream | undefined;
}

/** A route's stream, ready to run. */
export interface EventStream extends Live {
  readonly readParameters: ReadParameters;
  readonly stored: StoredOperation;
}

/** Compiles the operations of a route. */
export function prepareRoute(executor: GraphqlExecutor, route: Route): PreparedRoute {
  const text = readStoredOperation(route.operation);
  const stored = executor.prepare(text);
  const { live } = route;
  const state = route.state === null ? null : executor.prepare(readStoredOperation(route.state));
  return {
    ...route,
    readParameters: parameterReader(route.path, route.parameters),
    stored,
    table:
      route.body.page === undefined
        ? stored
        : executor.prepare(readStoredOperation(route.operation, [...TABLE_FRAGMENTS, ...FRAGMENTS])),
    mediaTypes: mediaTypesOf(route),
    validation: state && { stored: state, tag: tagOfOperation(text) },
    stream: live && {
      ...live,
      readParameters: parameterReader(
        route.path,
        route.parameters.filter(({ name }) => live.parameters.includes(name)),
      ),
      stored: executor.prepare(readStoredOperation(live.operation)),
    },
  };
}

/** In src/, whether this runs from there or from dist/: only TypeScript is compiled. */
const OPERATIONS = new URL('../../../src/rest/v1/operations/', import.meta.url);

function readText(file: string): string {
  return readFileSync(new URL(`${file}.graphql`, OPERATIONS), 'utf8');
}

/** Of what comes in bodies more than once, or is another in tables. */
const FRAGMENTS = [
  ...['HttpHeaderFields', 'ChangeFields', 'RecordMatchFields', 'HeaderMatchFields', 'DnsRecordWithText'].map(
    readText,
  ),
  dnsRecordFragment(),
];

/** What tables have in place of fragments of the same names. */
const TABLE_FRAGMENTS = ['tables/RecordMatchFields', 'tables/HeaderMatchFields'].map(readText);

/** The text of a stored operation, with the fragments that it spreads: of each name the first. */
export function readStoredOperation(file: string, fragments: readonly string[] = FRAGMENTS): string {
  let text = readText(file.replace('.graphql', ''));
  // A fragment may spread one that follows it.
  for (const fragment of fragments) {
    const name = /fragment (\w+)/.exec(fragment)?.[1];
    if (text.includes(`...${name}`) && !text.includes(`fragment ${name} `)) text += `\n${fragment}`;
  }
  return text;
}

/** What an operation has found, and the body that it makes: that of a large history in parts. */
export interface FoundBody {
  /** With the version of what the body has, where the operation selects one. */
  readonly state: object;
  readonly body: string | readonly Buffer[];
  /** Of a page that others follow, the cursor of the next one; otherwise null. */
  readonly next: string | null;
}

/** What a route is asked, and for whom. */
export interface Asked extends Pick<Requested, 'variables' | 'countedFrom'> {
  readonly route: PreparedRoute;
  readonly mediaType: MediaType;
  readonly caller: Caller;
  /** What all of it is read from. */
  readonly loaders: Loaders;
}

/** What the operation's one field is; undefined: null. @throws the first error. */
export function foundIn({ data, errors = [] }: ExecutionResult): object | undefined {
  const [error] = errors;
  if (error !== undefined) throw error.originalError ?? error;
  const [found] = Object.values(data ?? {});
  return typeof found === 'object' && found !== null ? found : undefined;
}

/** The same of a route's operation. @throws what the route says where nothing is found. */
export function foundBy(result: ExecutionResult, route: Route, variables: Variables): object {
  const found = foundIn(result) ?? route.missing?.(variables);
  if (found === undefined) throw new Error(`${route.operationId} has found nothing.`);
  if (found instanceof Error) throw found;
  return found;
}
