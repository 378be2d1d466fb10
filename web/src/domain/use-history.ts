import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, listen, token } from '../api.js';
import {
  DomainChangesDocument,
  DomainHeadersDocument,
  DomainRecordsDocument,
  LiveChangesDocument,
} from '../operations.generated.js';
import { timestampOf } from '../time.js';
import type { Page } from '../use-answer.js';
import { type Change, type LoadedHistory, sinceOf, withOlder, withRecorded } from './history.js';

/** So many changes are loaded by themselves: more take seconds, and much of the rate limit. */
const MOST_LOADED = 10_000;

/** The first page is small, so that there soon is something to see. */
const FIRST_PAGE = 100;
const FURTHER_PAGES = 500;

/** While pages are loaded, the page is drawn again so often, in milliseconds. */
const DRAWN_EVERY = 400;

/** A domain's history as far as it is loaded. */
export interface HistoryInUse {
  readonly history: LoadedHistory;
  readonly isLoading: boolean;
  readonly error: Error | null;
  /** Whether what is recorded arrives by itself. */
  readonly isLive: boolean;
  /** Grows with each change that arrived. */
  readonly occasion: number;
  /** Loads about as many older changes. */
  more(count: number): void;
}

interface Loaded {
  readonly history: LoadedHistory;
  readonly after: string | null;
  readonly isLoading: boolean;
  readonly error: Error | null;
}

const NOTHING: Loaded = {
  history: { changes: [], records: [], headers: [], since: null, before: [] },
  after: null,
  isLoading: true,
  error: null,
};

/** Loads the history of a domain, the newest first, and listens to what is recorded of it. */
export function useHistory(name: string): HistoryInUse {
  const [loaded, setLoaded] = useState<Loaded>(NOTHING);
  const [isLive, setLive] = useState(false);
  const [occasion, setOccasion] = useState(0);
  const [generation, setGeneration] = useState(0);
  const stop = useRef<AbortSignal>(undefined);
  // With another token, all of it begins again.
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    stop.current = signal;
    setLoaded(NOTHING);
    void listen(
      LiveChangesDocument,
      { domains: [name] },
      {
        onResult({ changes: { nodes, pageInfo } }) {
          if (nodes.length > 0) {
            setLoaded((known) => ({ ...known, history: withRecorded(known.history, nodes) }));
            setOccasion((count) => count + 1);
          }
          return pageInfo.endCursor ?? null;
        },
        onState: setLive,
        onLost: () => setGeneration((count) => count + 1),
      },
      signal,
    );
    load(name, signal, setLoaded).catch((error) => {
      if (!signal.aborted) setLoaded((known) => ({ ...known, error, isLoading: false }));
    });
    return () => controller.abort();
  }, [name, token.value, generation]);
  const more = (count: number) => {
    const signal = stop.current;
    const { after, isLoading } = loaded;
    if (signal === undefined || after === null || isLoading) return;
    setLoaded((known) => ({ ...known, isLoading: true }));
    loadOlder(name, after, count, signal, setLoaded).catch((error) => {
      if (!signal.aborted) setLoaded((known) => ({ ...known, error, isLoading: false }));
    });
  };
  const { history, isLoading, error } = loaded;
  return { history, isLoading, error, isLive, occasion, more };
}

type Update = (change: (known: Loaded) => Loaded) => void;

/** Loads what is present and, page by page, what changed. */
async function load(name: string, signal: AbortSignal, update: Update): Promise<void> {
  await Promise.all([
    pageOfChanges(name, null, FIRST_PAGE, signal).then(({ nodes, next }) => {
      add(nodes, next, update);
      return next === null ? undefined : loadOlder(name, next, MOST_LOADED - FIRST_PAGE, signal, update);
    }),
    allOf(
      (cursor) => ask(DomainRecordsDocument, { name, after: cursor }, signal),
      ({ domain }) => domain?.dnsRecordsConnection,
      (records) => update((known) => ({ ...known, history: { ...known.history, records } })),
    ),
    allOf(
      (cursor) => ask(DomainHeadersDocument, { name, after: cursor }, signal),
      ({ domain }) => domain?.httpHeadersConnection,
      (headers) => update((known) => ({ ...known, history: { ...known.history, headers } })),
    ),
  ]);
  update((known) => ({ ...known, isLoading: false }));
}

/** Loads about as many older changes. */
async function loadOlder(
  name: string,
  after: string,
  count: number,
  signal: AbortSignal,
  update: Update,
): Promise<void> {
  let cursor: string | null = after;
  let waiting: Change[] = [];
  let drawn = performance.now();
  for (let loaded = 0; cursor !== null && loaded < count; ) {
    const { nodes, next }: PageOfChanges = await pageOfChanges(name, cursor, FURTHER_PAGES, signal);
    cursor = next;
    loaded += FURTHER_PAGES;
    waiting = [...waiting, ...nodes];
    const isLast = cursor === null || loaded >= count;
    if (!isLast && performance.now() - drawn < DRAWN_EVERY) continue;
    add(waiting, cursor, update);
    waiting = [];
    drawn = performance.now();
    if (isLast && nodes.length > 0) await loadBefore(name, nodes, cursor, signal, update);
  }
  update((known) => ({ ...known, isLoading: false }));
}

/** Loads the headers as of the oldest change, where there are older ones. */
async function loadBefore(
  name: string,
  nodes: readonly Change[],
  next: string | null,
  signal: AbortSignal,
  update: Update,
): Promise<void> {
  const since = sinceOf(nodes);
  if (next === null || since === null) return;
  await allOf(
    (cursor) => ask(DomainHeadersDocument, { name, at: timestampOf(since), after: cursor }, signal),
    ({ domain }) => domain?.httpHeadersConnection,
    (before) => update((known) => ({ ...known, history: { ...known.history, before } })),
  );
}

interface PageOfChanges {
  readonly nodes: readonly Change[];
  /** The cursor of what is older; null: there is nothing. */
  readonly next: string | null;
}

async function pageOfChanges(
  name: string,
  after: string | null,
  first: number,
  signal: AbortSignal,
): Promise<PageOfChanges> {
  const { domain } = await ask(DomainChangesDocument, { name, first, after }, signal);
  const { nodes = [], pageInfo } = domain?.changes ?? {};
  return { nodes, next: pageInfo?.hasNextPage === true ? (pageInfo.endCursor ?? null) : null };
}

function add(nodes: readonly Change[], after: string | null, update: Update): void {
  update((known) => ({ ...known, after, history: withOlder(known.history, nodes, after === null) }));
}

/** So many pages of what is present: more than any domain that could be observed has. */
const MOST_PAGES = 20;

async function allOf<Result, Node>(
  askFor: (after: string | null) => Promise<Result>,
  pageOf: (result: Result) => Page<Node> | undefined,
  onNodes: (nodes: readonly Node[]) => void,
): Promise<void> {
  let after: string | null = null;
  let nodes: readonly Node[] = [];
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const page: Page<Node> | undefined = pageOf(await askFor(after));
    if (page === undefined) return;
    nodes = [...nodes, ...page.nodes];
    onNodes(nodes);
    if (!page.pageInfo.hasNextPage) return;
    after = page.pageInfo.endCursor ?? null;
  }
}
