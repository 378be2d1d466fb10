import { readFileSync } from 'node:fs';
import type { ExecutionResult } from 'graphql';
import type { GraphqlExecutor, StoredOperation } from '../../graphql/execute.js';
import { memoized } from '../../model/memoized.js';
import type { Variables } from './parameters.js';
import { type MediaType, preferredType } from './presenters/body.js';
import { dnsRecordFragment } from './presenters/dns-records.js';
import type { Route } from './routes.js';
import { tagOfOperation } from './validators.js';

export interface Operation extends Route {
  readonly stored: () => StoredOperation;
}

export type PreparedRoute = ReturnType<typeof prepareRoute>;

export function prepareRoute(executor: GraphqlExecutor, route: Route) {
  const { parameters, state, body } = route;
  const file = `${(route.runs ?? route).operationId}.graphql`;
  const stored = prepareStored(executor, file);
  const mediaTypes: readonly MediaType[] = [
    body.feed?.mediaType ?? 'application/json',
    ...(body.page === undefined ? [] : (['text/csv', 'application/x-ndjson'] as const)),
    ...(route['x-stream'] === undefined ? [] : (['text/event-stream'] as const)),
  ];
  return {
    ...route,
    stored,
    /** The same with what a table has. */
    table: body.page === undefined ? stored : prepareStored(executor, file, true),
    mediaTypes,
    /** As preferredType(). Clients send few different fields: each is read once. */
    preferred: memoized((accept: string) => preferredType(accept, mediaTypes), 1_000),
    /** The operation that gives the state alone, and what entity tags of the route end in. */
    validation:
      state === null
        ? null
        : { stored: prepareStored(executor, state), tag: tagOfOperation(readStored(file)) },
    /** Whether the state may be asked for alone: others are pages, or have parameters to be checked before. */
    isPlain: parameters.every(({ name }) => name === 'domain' || name === 'at'),
    /** What a client gets as it happens that accepts server-sent events; null: it gets the body. */
    stream:
      route['x-stream'] === undefined
        ? null
        : {
            ...route,
            // Those of a page are not of a stream.
            parameters: parameters.filter(({ name }) => name !== 'order' && name !== 'first'),
            stored: prepareStored(executor, 'changes-live.graphql'),
          },
  };
}

/** In src/, whether this runs from there or from dist/: only TypeScript is compiled. */
const OPERATIONS = new URL('../../../src/rest/v1/operations/', import.meta.url);

/** What bodies have more than once, or tables have otherwise. One may spread those that follow it. */
const OF_ENTRIES = ['HttpHeaderFields', 'ChangeFields', 'RecordMatchFields', 'HeaderMatchFields'];
const FRAGMENTS = [...OF_ENTRIES, 'DnsRecordWithText', 'DnsRecordFields'];

/** Validated when it is first asked for: all of them together would hold up each start. */
export function prepareStored(executor: GraphqlExecutor, file: string, isTable = false) {
  let stored: StoredOperation | undefined;
  return () => {
    stored ??= executor.prepare(readStored(file, isTable));
    return stored;
  };
}

/** The text of a stored operation, with the fragments that it spreads: for a table, those of tables/. */
function readStored(file: string, isTable = false): string {
  const readText = (name: string) => readFileSync(new URL(name, OPERATIONS), 'utf8');
  let text = readText(file);
  for (const name of FRAGMENTS) {
    if (!text.includes(`...${name}`)) continue;
    const folder = isTable && name.endsWith('MatchFields') ? 'tables/' : '';
    text += `\n${name === 'DnsRecordFields' ? dnsRecordFragment() : readText(`${folder}${name}.graphql`)}`;
  }
  return text;
}

/** What a route's operation has found. @throws the first error, and what the route says for null. */
export function foundBy({ data, errors }: ExecutionResult, route: Route, variables: Variables): object {
  const error = errors?.[0];
  if (error !== undefined) throw error.originalError ?? error;
  const [found] = Object.values(data ?? {});
  if (typeof found === 'object' && found !== null) return found;
  throw route.missing?.(variables) ?? new Error(`${route.operationId} has found nothing.`);
}
