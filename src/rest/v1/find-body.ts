import type { ExecutionResult } from 'graphql';
import type { GraphqlExecutor, StoredOperation } from '../../graphql/execute.js';
import { LargeHistoryError, TooLargeError } from '../../limits/response-size.js';
import { BusyError, ClientGoneError } from '../../model/errors.js';
import { writeBody } from './media-types.js';
import type { Variables } from './parameters.js';
import { type Asked, type FoundBody, foundBy, readStoredOperation } from './prepared-routes.js';
import { nextOf, type PageResult } from './presenters/body.js';
import { type DnsRecordResult, presentDnsRecords } from './presenters/dns-records.js';

/** Runs the operation of a route: that of a large history by pages. @throws as foundBy() does. */
export type FindBody = (asked: Asked) => Promise<FoundBody>;

/** To be made once for each executor: it limits how many large histories are read at once. */
export function bodyFinder(executor: GraphqlExecutor): FindBody {
  let histories: LargeHistories | undefined;
  return async (asked) => {
    const { route, variables, countedFrom, mediaType, caller, loaders } = asked;
    const stored = mediaType === 'text/csv' ? route.table : route.stored;
    const whole = route.body.lists !== undefined;
    const result = await executor.executeStored(stored, variables, caller, loaders, whole);
    const octets = largeOctetsIn(result);
    if (octets > 0) {
      histories ??= new LargeHistories(executor);
      return histories.read(asked, octets);
    }
    const state = foundBy(result, route, variables);
    const body = writeBody(route.body, state, countedFrom, mediaType);
    return { state, body, next: nextOf(route.body.page?.pageIn(state), countedFrom) };
  };
}

/** How many octets the lists have that are too long for one execution; 0: there are none. */
function largeOctetsIn({ errors = [] }: ExecutionResult): number {
  const sizes = errors.map(({ originalError }) =>
    originalError instanceof LargeHistoryError ? originalError.octets : 0,
  );
  return sizes.reduce((sum, octets) => sum + octets, 0);
}

/** In octets: a longer body is not made. */
const MAX_OCTETS = 128 * 1024 ** 2;
/** So many are read at a time: each may take as much memory. */
const AT_ONCE = 2;
/** Entries of a page, which ends before 64 kB of text. */
const FIRST = 500;

/** What a stored operation for a page finds: a domain, and the page or the header that has it. */
interface DomainPage {
  readonly version: string;
  readonly page?: PageResult<object>;
  readonly headers?: { readonly nodes: readonly { readonly page: PageResult<object> }[] };
}

/** Makes the bodies of large histories: page by page, by the loaders of the connections, joined as JSON. */
class LargeHistories {
  readonly #executor: GraphqlExecutor;
  readonly #records: StoredOperation;
  readonly #headers: StoredOperation;
  readonly #history: StoredOperation;
  readonly #waiting: (() => void)[] = [];
  #reading = 0;

  constructor(executor: GraphqlExecutor) {
    this.#executor = executor;
    this.#records = executor.prepare(readStoredOperation('domain-record-page.graphql'));
    this.#headers = executor.prepare(readStoredOperation('domain-header-page.graphql'));
    this.#history = executor.prepare(readStoredOperation('header-history-page.graphql'));
  }

  /**
   * The body of a history that is too long for one execution.
   *
   * @throws TooLargeError beyond 128 MB; BusyError where the domain changed meanwhile.
   */
  async read(asked: Asked, octets: number): Promise<FoundBody> {
    if (octets > MAX_OCTETS) {
      const what = `The history has more than ${MAX_OCTETS / 1024 ** 2} MB.`;
      throw new TooLargeError(
        what,
        'Use GraphQL: dnsRecordsConnection and httpHeadersConnection have pages.',
      );
    }
    if (this.#reading >= AT_ONCE) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#reading += 1;
    try {
      return await this.#join(asked);
    } finally {
      this.#reading -= 1;
      this.#waiting.shift()?.();
    }
  }

  /** The fields of the domain, and after them its lists. */
  async #join(asked: Asked): Promise<FoundBody> {
    const { lists = [] } = asked.route.body;
    const parts: Buffer[] = [];
    let state: DomainPage | undefined;
    const check = (found: DomainPage) => {
      if (asked.caller.signal.aborted) throw new ClientGoneError();
      state ??= found;
      if (state.version !== found.version) throw changed();
    };
    for (const list of lists) {
      const entries = list === 'dnsRecords' ? this.#recordsOf(asked, check) : this.#headersOf(asked, check);
      parts.push(Buffer.from(`,"${list}":[`));
      let comma = '';
      for await (const entry of entries) {
        parts.push(Buffer.from(comma + entry));
        comma = ',';
      }
      parts.push(Buffer.from(']'));
    }
    if (state === undefined) throw changed();
    const { version: _version, page: _page, ...domain } = state;
    const start = Buffer.from(JSON.stringify(domain).slice(0, -1));
    return { state, body: [start, ...parts, Buffer.from('}')], next: null };
  }

  async *#recordsOf(asked: Asked, check: (found: DomainPage) => void): AsyncGenerator<string> {
    for await (const nodes of this.#pages(this.#records, asked, {}, check)) {
      const presented = presentDnsRecords(nodes as readonly DnsRecordResult[]);
      if (presented.length > 0) yield JSON.stringify(presented).slice(1, -1);
    }
  }

  async *#headersOf(asked: Asked, check: (found: DomainPage) => void): AsyncGenerator<string> {
    for await (const headers of this.#pages(this.#headers, asked, {}, check)) {
      for (const header of headers as readonly { readonly name: string }[]) {
        const items: string[] = [];
        for await (const nodes of this.#pages(this.#history, asked, { name: header.name }, check)) {
          if (nodes.length > 0) items.push(JSON.stringify(nodes).slice(1, -1));
        }
        yield `${JSON.stringify(header).slice(0, -1)},"history":[${items.join(',')}]}`;
      }
    }
  }

  /** The nodes of all pages of an operation, whose domain is checked. */
  async *#pages(
    operation: StoredOperation,
    { route, variables: { domain, at }, caller, loaders }: Asked,
    more: Variables,
    check: (found: DomainPage) => void,
  ): AsyncGenerator<readonly object[]> {
    let after: string | null = null;
    do {
      const variables: Variables = { domain, at, ...more, first: FIRST, after };
      const result = await this.#executor.executeStored(operation, variables, caller, loaders, false);
      const found = foundBy(result, route, variables) as DomainPage;
      check(found);
      const page: PageResult<object> | undefined = found.page ?? found.headers?.nodes[0]?.page;
      if (page === undefined) throw changed();
      yield page.nodes;
      after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
    } while (after !== null);
  }
}

function changed(): BusyError {
  return new BusyError(1, 'The history changed while it was read.');
}
