import type { ExecutionResult } from 'graphql';
import type { GraphqlExecutor, StoredOperation } from '../../graphql/execute.js';
import { LargeHistoryError, TooLargeError } from '../../limits/response-size.js';
import { BusyError, ClientGoneError } from '../../model/errors.js';
import type { Variables } from './parameters.js';
import { type Asked, type FoundBody, foundIn } from './prepared-routes.js';

/** The large history that an execution has found. */
export function largeHistoryIn({ errors }: ExecutionResult): LargeHistoryError | undefined {
  const [found] = (errors ?? []).flatMap(({ originalError }) =>
    originalError instanceof LargeHistoryError ? [originalError] : [],
  );
  return found;
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
  async read(asked: Asked, { octets }: LargeHistoryError): Promise<FoundBody> {
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
    const { route, countedFrom, caller } = asked;
    const empty = route.body.present({ dnsRecords: [], httpHeaders: [] }, countedFrom);
    const lists: Record<string, Buffer[]> = {};
    let state: object | undefined;
    const found = (page: object) => {
      if (caller.signal.aborted) throw new ClientGoneError();
      state ??= page;
      if (versionOf(state) !== versionOf(page)) throw changed();
    };
    const present = (dnsRecords: readonly object[]) =>
      jsonOfList(route.body.present({ dnsRecords, httpHeaders: [] }, countedFrom), 'dnsRecords');
    if ('dnsRecords' in empty) {
      lists['dnsRecords'] = [];
      for await (const nodes of this.#pages(this.#records, asked, {}, found)) {
        if (nodes.length > 0) lists['dnsRecords'].push(Buffer.from(present(nodes)));
      }
    }
    if ('httpHeaders' in empty) {
      lists['httpHeaders'] = [];
      for await (const headers of this.#pages(this.#headers, asked, {}, found)) {
        for (const header of headers) lists['httpHeaders'].push(await this.#header(header, asked, found));
      }
    }
    if (state === undefined) throw changed();
    const body = route.body.present({ ...state, dnsRecords: [], httpHeaders: [] }, countedFrom);
    return { state, body: joined(body, lists), next: null };
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

/** The entries of a list of a body as JSON, without its brackets. */
function jsonOfList(body: object, name: string): string {
  return JSON.stringify(Reflect.get(body, name)).slice(1, -1);
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
