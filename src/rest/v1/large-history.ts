import type { ExecutionResult } from 'graphql';
import type { GraphqlExecutor, StoredOperation } from '../../graphql/execute.js';
import { LargeHistoryError, TooLargeError } from '../../limits/response-size.js';
import { BusyError, ClientGoneError } from '../../model/errors.js';
import type { Variables } from './parameters.js';
import { type Asked, type FoundBody, foundIn } from './prepared-routes.js';
import { type DnsRecordResult, presentDnsRecords } from './presenters/dns-records.js';

/** How many octets the lists have that are too long for one execution; 0: there are none. */
export function largeOctetsIn({ errors }: ExecutionResult): number {
  return (errors ?? []).reduce(
    (sum, { originalError }) => sum + (originalError instanceof LargeHistoryError ? originalError.octets : 0),
    0,
  );
}

/** In octets: a longer body is not made. */
const MAX_OCTETS = 128 * 1024 ** 2;
/** So many are read at a time: each may take as much memory. */
const AT_ONCE = 2;
/** Entries of a page, which ends before 64 kB of text. */
const FIRST = 500;

/** A page of a connection, as the stored operations name it. */
interface PageResult {
  readonly nodes: readonly object[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

/** Makes the bodies of large histories: page by page, by the loaders of the connections, joined as JSON. */
export class LargeHistories {
  readonly #executor: GraphqlExecutor;
  readonly #records: StoredOperation;
  readonly #headers: StoredOperation;
  readonly #history: StoredOperation;
  readonly #waiting: (() => void)[] = [];
  #reading = 0;

  /** @param readOperation Gives the text of a stored operation. */
  constructor(executor: GraphqlExecutor, readOperation: (file: string) => string) {
    this.#executor = executor;
    this.#records = executor.prepare(readOperation('domain-record-page.graphql'));
    this.#headers = executor.prepare(readOperation('domain-header-page.graphql'));
    this.#history = executor.prepare(readOperation('header-history-page.graphql'));
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
    await this.#enter();
    try {
      return await this.#join(asked);
    } finally {
      this.#reading -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #enter(): Promise<void> {
    if (this.#reading >= AT_ONCE) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#reading += 1;
  }

  async #join(asked: Asked): Promise<FoundBody> {
    const { body } = asked.route;
    const lists: Record<string, Buffer[]> = {};
    let state: object | undefined;
    const found = (page: object) => {
      if (asked.caller.signal.aborted) throw new ClientGoneError();
      state ??= page;
      if (versionOf(state) !== versionOf(page)) throw changed();
    };
    if (body.lists?.includes('dnsRecords')) lists['dnsRecords'] = await this.#recordList(asked, found);
    if (body.lists?.includes('httpHeaders')) lists['httpHeaders'] = await this.#headerList(asked, found);
    if (state === undefined) throw changed();
    const { page: _page, ...domain } = state as { readonly page?: unknown };
    const empty = Object.fromEntries(Object.keys(lists).map((name) => [name, []]));
    const whole = body.present({ ...domain, ...empty }, asked.countedFrom);
    return { state, body: joined(whole, lists), next: null };
  }

  async #recordList(asked: Asked, found: (page: object) => void): Promise<Buffer[]> {
    const entries: Buffer[] = [];
    for await (const nodes of this.#pages(this.#records, asked, {}, found)) {
      if (nodes.length === 0) continue;
      const presented = presentDnsRecords(nodes as readonly DnsRecordResult[]);
      entries.push(Buffer.from(JSON.stringify(presented).slice(1, -1)));
    }
    return entries;
  }

  async #headerList(asked: Asked, found: (page: object) => void): Promise<Buffer[]> {
    const entries: Buffer[] = [];
    for await (const headers of this.#pages(this.#headers, asked, {}, found)) {
      for (const header of headers) entries.push(await this.#header(header, asked, found));
    }
    return entries;
  }

  /** A header with its whole history, as JSON. */
  async #header(header: object, asked: Asked, found: (page: object) => void): Promise<Buffer> {
    const items: string[] = [];
    const { name, ...rest } = header as { readonly name: string };
    for await (const nodes of this.#pages(this.#history, asked, { name }, found)) {
      if (nodes.length > 0) items.push(JSON.stringify(nodes).slice(1, -1));
    }
    return Buffer.from(`${JSON.stringify({ name, ...rest }).slice(0, -1)},"history":[${items.join(',')}]}`);
  }

  /** The nodes of all pages of an operation, whose domain is told to `found`. */
  async *#pages(
    operation: StoredOperation,
    { route, variables: { domain, at }, caller, loaders }: Asked,
    more: Variables,
    found: (page: object) => void,
  ): AsyncGenerator<readonly object[]> {
    let after: string | null = null;
    do {
      const variables: Variables = { domain, at, ...more, first: FIRST, after };
      const result = await this.#executor.executeStored(operation, variables, caller, loaders, false);
      const page = foundIn(result, route, variables);
      found(page);
      const { nodes, pageInfo } = pageIn(page);
      yield nodes;
      after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
    } while (after !== null);
  }
}

function pageIn(found: object): PageResult {
  const { page, headers } = found as { page?: PageResult; headers?: { nodes: { page: PageResult }[] } };
  const result = page ?? headers?.nodes[0]?.page;
  if (result === undefined) throw changed();
  return result;
}

function versionOf(found: object): unknown {
  return Reflect.get(found, 'version');
}

function changed(): BusyError {
  return new BusyError(1, 'The history changed while it was read.');
}

/** The JSON of a body whose lists are empty, with the given entries in them. */
function joined(body: object, lists: Readonly<Record<string, readonly Buffer[]>>): readonly Buffer[] {
  const octets: Buffer[] = [];
  for (const [name, value] of Object.entries(body)) {
    octets.push(Buffer.from(`${octets.length === 0 ? '{' : ','}${JSON.stringify(name)}:`));
    const entries = lists[name];
    if (entries === undefined) {
      octets.push(Buffer.from(JSON.stringify(value)));
      continue;
    }
    octets.push(Buffer.from('['));
    entries.forEach((entry, index) => {
      if (index > 0) octets.push(COMMA);
      octets.push(entry);
    });
    octets.push(Buffer.from(']'));
  }
  return [...octets, Buffer.from('}')];
}

const COMMA = Buffer.from(',');
