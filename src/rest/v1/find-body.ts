import type { ExecutionResult } from 'graphql';
import type { GraphqlExecutor, Loaders, StoredOperation } from '../../graphql/execute.js';
import type { Caller } from '../../limits/caller.js';
import { LargeHistoryError, TooLargeError } from '../../limits/response-size.js';
import { BusyError, ClientGoneError } from '../../model/errors.js';
import { type MediaType, writeBody } from './media-types.js';
import type { Requested } from './parameters.js';
import { foundBy, type PreparedRoute, prepareStored } from './prepared-routes.js';
import { nextOf, type PageResult, type Place } from './presenters/body.js';
import { type DnsRecordResult, presentDnsRecord } from './presenters/dns-records.js';

/** What a route is asked, and for whom. */
interface Asked extends Pick<Requested, 'variables' | 'countedFrom'> {
  readonly route: PreparedRoute;
  readonly mediaType: MediaType;
  readonly caller: Caller;
  /** What all of it is read from. */
  readonly loaders: Loaders;
  /** As `present` of a body takes it. */
  readonly place?: Place | undefined;
}

/** What an operation has found, and the body that it makes: that of a large history in parts. */
interface FoundBody {
  /** With the version of what the body has, where the operation selects one. */
  readonly state: object;
  readonly body: string | readonly Buffer[];
  /** Of a page that others follow, the cursor of the next one; otherwise null. */
  readonly next: string | null;
}

/** Makes what runs the operation of a route: that of a large history by pages. It throws as foundBy() does. */
export function bodyFinder(executor: GraphqlExecutor) {
  let pages: PageOperations | undefined;
  return async (asked: Asked): Promise<FoundBody> => {
    const { route, variables, countedFrom, mediaType, caller, loaders, place } = asked;
    const stored = mediaType === 'text/csv' ? route.table : route.stored;
    const whole = route.body.lists !== undefined;
    const result = await executor.executeStored(stored, variables, caller, loaders, whole);
    const octets = largeOctetsIn(result);
    if (octets === 0) {
      const state = foundBy(result, route, variables);
      await fillFeed(executor, asked, state);
      const body = writeBody(route.body, state, countedFrom, mediaType, place);
      return { state, body, next: nextOf(route.body.page?.pageIn(state), countedFrom) };
    }
    if (octets > MAX_OCTETS) {
      const what = `The history has more than ${MAX_OCTETS / 1024 ** 2} MB.`;
      throw new TooLargeError(
        what,
        'Use GraphQL: dnsRecordsConnection and httpHeadersConnection have pages.',
      );
    }
    const leave = await executor.largeHistories.enter(caller);
    try {
      pages ??= {
        dnsRecords: prepareStored(executor, 'domain-record-page.graphql'),
        httpHeaders: prepareStored(executor, 'domain-header-page.graphql'),
        history: prepareStored(executor, 'header-history-page.graphql'),
      };
      return await new LargeHistory(asked, executor, pages).join();
    } finally {
      leave();
    }
  };
}

/** Of pages for a feed. A page ends where it has examined 10,000 recordings, also without an entry. */
const MAX_PAGES = 10;

/** Adds to a feed what further pages have, up to as many entries as one may have: readers know no cursor. */
async function fillFeed(executor: GraphqlExecutor, asked: Asked, found: object): Promise<void> {
  const { route, variables, caller, loaders } = asked;
  const { feed } = route.body;
  if (feed === undefined) return;
  const filled = feed.pageIn(found);
  let { nodes, pageInfo } = filled;
  for (let pages = 1; pageInfo.hasNextPage && pages < MAX_PAGES; pages += 1) {
    const first = Number(variables['first']) - nodes.length;
    if (first <= 0) break;
    const next = { ...variables, first, after: pageInfo.endCursor };
    const page = feed.pageIn(
      foundBy(await executor.executeStored(route.stored, next, caller, loaders, false), route, next),
    );
    if (caller.signal.destroyed) throw new ClientGoneError();
    nodes = [...nodes, ...page.nodes];
    pageInfo = page.pageInfo;
  }
  Object.assign(filled, { nodes });
}

/** How many octets the lists have that are too long for one execution; 0: there are none. */
function largeOctetsIn({ errors = [] }: ExecutionResult): number {
  const large = errors.map(({ originalError }) => originalError);
  return large.reduce((sum, error) => sum + (error instanceof LargeHistoryError ? error.octets : 0), 0);
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

/** The operations for a page of a list, or of the history of a header. */
type PageOperations = Readonly<Record<'dnsRecords' | 'httpHeaders' | 'history', StoredOperation>>;

/** A history that is too long for one execution: its body is joined of the pages of connections. */
class LargeHistory {
  readonly #asked: Asked;
  readonly #executor: GraphqlExecutor;
  readonly #pages: PageOperations;
  #state: DomainPage | undefined;

  constructor(asked: Asked, executor: GraphqlExecutor, pages: PageOperations) {
    this.#asked = asked;
    this.#executor = executor;
    this.#pages = pages;
  }

  /** The fields of the domain, then its lists. @throws BusyError where the domain changed meanwhile. */
  async join(): Promise<FoundBody> {
    const parts: Buffer[] = [];
    for (const list of this.#asked.route.body.lists ?? []) {
      parts.push(Buffer.from(`,"${list}":[`));
      let comma = '';
      for await (const text of list === 'dnsRecords' ? this.#records() : this.#headers()) {
        parts.push(Buffer.from(comma + text));
        comma = ',';
      }
      parts.push(Buffer.from(']'));
    }
    if (this.#state === undefined) throw changed();
    const { version: _version, page: _page, ...domain } = this.#state;
    const start = Buffer.from(JSON.stringify(domain).slice(0, -1));
    return { state: this.#state, body: [start, ...parts, Buffer.from('}')], next: null };
  }

  async *#records(): AsyncGenerator<string> {
    for await (const nodes of this.#nodes('dnsRecords')) {
      yield JSON.stringify((nodes as readonly DnsRecordResult[]).map(presentDnsRecord)).slice(1, -1);
    }
  }

  async *#headers(): AsyncGenerator<string> {
    for await (const headers of this.#nodes('httpHeaders')) {
      for (const header of headers as readonly { readonly name: string }[]) {
        const items: string[] = [];
        for await (const nodes of this.#nodes('history', header.name)) {
          items.push(JSON.stringify(nodes).slice(1, -1));
        }
        yield `${JSON.stringify(header).slice(0, -1)},"history":[${items.join(',')}]}`;
      }
    }
  }

  /** The nodes of all pages that have some. @param name Of the header whose history it is. */
  async *#nodes(list: keyof PageOperations, name?: string): AsyncGenerator<readonly object[]> {
    const { route, variables: asked, caller, loaders } = this.#asked;
    for (let after: string | null | undefined; after !== null; ) {
      const variables = { domain: asked['domain'], at: asked['at'], name, first: FIRST, after };
      const result = await this.#executor.executeStored(this.#pages[list], variables, caller, loaders, false);
      const found = foundBy(result, route, variables) as DomainPage;
      if (caller.signal.destroyed) throw new ClientGoneError();
      this.#state ??= found;
      const page: PageResult<object> | undefined = found.page ?? found.headers?.nodes[0]?.page;
      if (this.#state.version !== found.version || page === undefined) throw changed();
      if (page.nodes.length > 0) yield page.nodes;
      after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
    }
  }
}

function changed(): BusyError {
  return new BusyError(1, 'The history changed while it was read.');
}
