import { readFileSync } from 'node:fs';
import type { ExecutionResult } from 'graphql';
import type { GraphqlExecutor, StoredOperation } from '../../graphql/execute.js';
import { type MediaType, mediaTypesOf } from './media-types.js';
import { parameterReader, type ReadParameters, type Variables } from './parameters.js';
import { dnsRecordFragment } from './presenters/dns-records.js';
import type { Live, Route } from './routes.js';
import { tagOfOperation } from './validators.js';

/** What a request is answered with, ready to run. */
export interface Operation {
  readonly readParameters: ReadParameters;
  readonly stored: StoredOperation;
}

export type EventStream = Live & Operation;

/** A route, ready to run. */
export interface PreparedRoute extends Route, Operation {
  /** The same with what a table has. */
  readonly table: StoredOperation;
  readonly mediaTypes: readonly MediaType[];
  /** The operation that gives the state alone, and what entity tags of the route end in. */
  readonly validation: { readonly stored: StoredOperation; readonly tag: string } | null;
  /**
   * Whether the state may be asked for alone, and bodies are kept: those of the specification's operations. Others
   * have parameters that are checked by the operation, before a 304, too, or are pages.
   */
  readonly isPlain: boolean;
  readonly stream?: EventStream | undefined;
}

/** Compiles the operations of a route. */
export function prepareRoute(executor: GraphqlExecutor, route: Route): PreparedRoute {
  const { path, parameters, operationId, live } = route;
  const text = readStoredOperation(`${operationId}.graphql`);
  const stored = executor.prepare(text);
  const isTable = route.body.page !== undefined;
  const state = route.state === null ? null : executor.prepare(readStoredOperation(route.state));
  const ofStream = parameters.filter(({ name }) => live?.parameters.includes(name));
  return {
    ...route,
    readParameters: parameterReader(path, parameters),
    stored,
    table: isTable ? executor.prepare(readStoredOperation(`${operationId}.graphql`, OF_TABLES)) : stored,
    mediaTypes: mediaTypesOf(route),
    validation: state && { stored: state, tag: tagOfOperation(text) },
    isPlain: parameters.every(({ name }) => name === 'domain' || name === 'at'),
    stream: live && {
      ...live,
      readParameters: parameterReader(path, ofStream),
      stored: executor.prepare(readStoredOperation(live.operation)),
    },
  };
}

/** In src/, whether this runs from there or from dist/: only TypeScript is compiled. */
const OPERATIONS = new URL('../../../src/rest/v1/operations/', import.meta.url);

function readText(file: string): string {
  return readFileSync(new URL(file, OPERATIONS), 'utf8');
}

/** What bodies have more than once, or tables have otherwise, by name. One may spread those that follow it. */
const FRAGMENTS: ReadonlyMap<string, string> = new Map([
  ...['HttpHeaderFields', 'ChangeFields', 'RecordMatchFields', 'HeaderMatchFields', 'DnsRecordWithText'].map(
    (name) => [name, readText(`${name}.graphql`)] as const,
  ),
  ['DnsRecordFields', dnsRecordFragment()],
]);
const OF_TABLES: typeof FRAGMENTS = new Map([
  ...FRAGMENTS,
  ['RecordMatchFields', readText('tables/RecordMatchFields.graphql')],
  ['HeaderMatchFields', readText('tables/HeaderMatchFields.graphql')],
]);

/** The text of a stored operation, with the fragments that it spreads. */
export function readStoredOperation(file: string, fragments = FRAGMENTS): string {
  let text = readText(file);
  for (const [name, fragment] of fragments) if (text.includes(`...${name}`)) text += `\n${fragment}`;
  return text;
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
