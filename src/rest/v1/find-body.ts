import type { GraphqlExecutor, Loaders, StoredOperation } from '../../graphql/execute.js';
import type { Caller } from '../../limits/caller.js';
import { LargeHistoryError, TooLargeError } from '../../limits/response-size.js';
import { BusyError, ClientGoneError } from '../../model/errors.js';
import { memoized } from '../../model/memoized.js';
import type { Requested } from './parameters.js';
import { foundBy, type PreparedRoute, prepareStored } from './prepared-routes.js';
import { type MediaType, nextOf, type PageResult, type Place, writeBody } from './presenters/body.js';
import { type DnsRecordResult, presentDnsRecord } from './presenters/dns-records.js';

export interface Asked extends Pick<Requested, 'variables' | 'countedFrom'> {
  readonly route: PreparedRoute;
  readonly mediaType: MediaType;
  readonly caller: Caller;
  /** What all of it is read from. */
  readonly loaders: Loaders;
  /** As `present` of a body takes it. */
  readonly place?: Place | undefined;
}

export interface FoundBody {
  /** With the version of what the body has, where the operation selects one. */
  readonly state: object;
  readonly body: string | readonly Buffer[];
  /** The cursor of the next page; null: none follows. */
  readonly next: string | null;
}

/** Makes what runs the operation of a route: that of a large history by pages. It throws as foundBy() does. */
export function bodyFinder(executor: GraphqlExecutor) {
  const operationOf = memoized((file: string) => prepareStored(executor, file)());
  return async (asked: Asked): Promise<FoundBody> => {
    const { route, variables, countedFrom, mediaType, caller, loaders, place } = asked;
    const stored = mediaType === 'text/csv' ? route.table : route.stored;
    const result = await stored().execute(variables, caller, loaders, route.body.lists !== undefined);
    const errors = result.errors?.map(({ originalError }) => originalError) ?? [];
    const large = errors.filter((error) => error instanceof LargeHistoryError);
    const octets = large.reduce((sum, error) => sum + error.octets, 0);
    if (octets === 0) {
      const state = foundBy(result, route, variables);
      await fillFeed(asked, state);
      const body = writeBody(route.body, state, countedFrom, mediaType, place);
      return { state, body, next: nextOf(route.body.page?.pageIn(state), countedFrom) };
    }
    if (octets > MAX_OCTETS) {
      throw new TooLargeError(
        `The history has more than ${MAX_OCTETS / 1024 ** 2} MB.`,
        'Use GraphQL: dnsRecordsConnection and httpHeadersConnection have pages.',
      );
    }
    const leave = await executor.largeHistories.enter(caller);
    try {
      return await joinPages(asked, operationOf);
    } finally {
      leave();
    }
  };
}

/** Of pages for a feed. A page ends where it has examined 10,000 recordings, also without an entry. */
const MAX_PAGES = 10;

/** Adds to a feed what further pages have, up to as many entries as one may have: readers know no cursor. */
async function fillFeed({ route, variables, caller, loaders }: Asked, found: object): Promise<void> {
  const { feed } = route.body;
  if (feed === undefined) return;
  const filled = feed.pageIn(found);
  let { nodes, pageInfo } = filled;
  for (let pages = 1; pageInfo.hasNextPage && pages < MAX_PAGES; pages += 1) {
    const first = Number(variables['first']) - nodes.length;
    if (first <= 0) break;
    const next = { ...variables, first, after: pageInfo.endCursor };
    const page = feed.pageIn(foundBy(await route.stored().execute(next, caller, loaders), route, next));
    if (caller.signal.destroyed) throw new ClientGoneError();
    nodes = [...nodes, ...page.nodes];
    pageInfo = page.pageInfo;
  }
  Object.assign(filled, { nodes });
}

/** In octets: a longer body is not made. */
const MAX_OCTETS = 128 * 1024 ** 2;
/** Entries of a page, which ends before 64 kB of text. */
const FIRST = 500;

/** What a stored operation for a page finds: a domain, and the page or the header that has it. */
interface DomainPage {
  readonly version: string;
  readonly page?: PageResult<object>;
  readonly headers?: { readonly nodes: readonly { readonly page: PageResult<object> }[] };
}

/** The fields of the domain, then its lists. @throws BusyError where the domain changed meanwhile. */
async function joinPages(
  { route, variables: { domain, at }, caller, loaders }: Asked,
  operationOf: (file: string) => StoredOperation,
): Promise<FoundBody> {
  const read: { state?: DomainPage } = {};

  /** The nodes of all pages that have some. @param name Of the header whose history it is. */
  async function* nodesBy(file: string, name?: string): AsyncGenerator<readonly object[]> {
    let page: PageResult<object> | undefined;
    do {
      const variables = { domain, at, name, first: FIRST, after: page?.pageInfo.endCursor };
      const result = await operationOf(file).execute(variables, caller, loaders);
      const found = foundBy(result, route, variables) as DomainPage;
      if (caller.signal.destroyed) throw new ClientGoneError();
      read.state ??= found;
      page = found.page ?? found.headers?.nodes[0]?.page;
      if (read.state.version !== found.version || page === undefined) throw changed();
      if (page.nodes.length > 0) yield page.nodes;
    } while (page.pageInfo.hasNextPage);
  }

  const entriesOf = {
    async *dnsRecords() {
      for await (const nodes of nodesBy('domain-record-page.graphql'))
        yield JSON.stringify((nodes as readonly DnsRecordResult[]).map(presentDnsRecord)).slice(1, -1);
    },
    async *httpHeaders() {
      for await (const headers of nodesBy('domain-header-page.graphql')) {
        for (const header of headers as readonly { readonly name: string }[]) {
          const items: string[] = [];
          for await (const nodes of nodesBy('header-history-page.graphql', header.name))
            items.push(JSON.stringify(nodes).slice(1, -1));
          yield `${JSON.stringify(header).slice(0, -1)},"history":[${items.join(',')}]}`;
        }
      }
    },
  };

  const parts: Buffer[] = [];
  for (const list of route.body.lists ?? []) {
    let start = `,"${list}":[`;
    for await (const text of entriesOf[list]()) {
      parts.push(Buffer.from(start + text));
      start = ',';
    }
    parts.push(Buffer.from(start === ',' ? ']' : `${start}]`));
  }
  if (read.state === undefined) throw changed();
  const { version: _version, page: _page, ...fields } = read.state;
  const start = Buffer.from(JSON.stringify(fields).slice(0, -1));
  return { state: read.state, body: [start, ...parts, Buffer.from('}')], next: null };
}

function changed(): BusyError {
  return new BusyError(1, 'The history changed while it was read.');
}
