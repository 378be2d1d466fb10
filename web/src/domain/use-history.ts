import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ask, reconnected } from '../api.js';
import {
  DomainChangesDocument,
  type DomainChangesQueryVariables,
  DomainHeadersDocument,
  DomainRecordsDocument,
  LiveChangesDocument,
} from '../operations.generated.js';
import { timestampOf } from '../time.js';
import type { Page } from '../use-answer.js';
import { useStream } from '../use-stream.js';
import type { Filter } from './filter.js';
import { type Change, isChange, type LoadedHistory, sinceOf, withOlder, withRecorded } from './history.js';

/** So many changes are loaded by themselves: more take seconds, and much of the rate limit. */
const MAX_LOADED = 10_000;

/** The first page is small, so that there soon is something to see. */
const FIRST_PAGE = 100;
const FURTHER_PAGES = 500;

/** So many changes of what a filter chooses are loaded at once, in smaller pages: where they are few among many, pages are empty. */
const MAX_CHOSEN = 4_000;
const CHOSEN_PAGES = 100;

/** While pages are loaded, the page is drawn again so often, in milliseconds. */
const DRAWN_EVERY = 400;

/** A domain's history as far as it is loaded. */
export interface HistoryInUse {
  readonly history: LoadedHistory;
  /** Without a filter. */
  readonly whole: LoadedHistory;
  readonly isLoading: boolean;
  /** Whether there is more that is present than was loaded. */
  readonly isCut: boolean;
  readonly error: Error | null;
  /** Whether what is recorded arrives by itself. */
  readonly isLive: boolean;
  /** What was recorded since. */
  readonly recorded: readonly Change[];
  /** Loads about as many older changes; all of it again if that has failed. */
  more(count: number): void;
}

interface Loaded {
  /** As it was read. */
  readonly read: LoadedHistory;
  /** Null: nothing is older, or nothing is loaded. */
  readonly after: string | null;
  readonly isLoading: boolean;
  readonly isCut: boolean;
  readonly error: Error | null;
}

const nothing = (): Loaded => ({
  read: { changes: [], records: [], headers: [], since: Date.now() * 1000, before: null },
  after: null,
  isLoading: true,
  isCut: false,
  error: null,
});

/** What of a domain is loaded: a type of what the API takes. */
type Of = Pick<DomainChangesQueryVariables, 'name' | 'types' | 'headers'>;

/**
 * Loads the history of a domain, the newest first, and listens to what is recorded of it. Where it is too long to be loaded
 * as a whole, changes of what a filter chooses are loaded by themselves, so that they go further back.
 */
export function useHistory(name: string, filter: Filter): HistoryInUse {
  const whole = useChanges(name);
  const chosen = useChosen(name, filter, whole.history.since !== null && !whole.isLoading);
  const { changes, since, before } = chosen?.read ?? whole.history;
  const history = useMemo(
    () => withRecorded({ ...whole.history, changes, since, before }, whole.recorded),
    [whole.history, whole.recorded, changes, since, before],
  );
  // Until there is something of it, all that is loaded of it is shown.
  if (chosen === null || (chosen.isLoading && changes.length === 0)) return whole;
  const { isLoading, error, more } = chosen;
  return { ...whole, history, isLoading, error, more };
}

/** Changes of what a filter chooses; null where that is everything, or all is loaded anyway. */
function useChosen(name: string, filter: Filter, isPartial: boolean) {
  const [loaded, setLoaded] = useState<Loaded>(nothing);
  const stopped = useRef<AbortSignal>(undefined);
  const isChosen = isPartial && filter.types.size + filter.headers.size > 0;
  const [types, headers] = [[...filter.types], [...filter.headers]];
  const of: Of = { name, ...(types.length > 0 && { types }), ...(headers.length > 0 && { headers }) };
  const load = (after: string | null, signal: AbortSignal) => {
    setLoaded((known) => ({ ...known, isLoading: true, error: null }));
    attempt(signal, setLoaded, (own) => loadOlder(of, after, [MAX_CHOSEN, CHOSEN_PAGES], own, setLoaded));
  };
  useEffect(() => {
    if (!isChosen) return undefined;
    const controller = new AbortController();
    stopped.current = controller.signal;
    setLoaded(nothing());
    load(null, controller.signal);
    return () => controller.abort();
  }, [JSON.stringify(of), isChosen]);
  if (!isChosen) return null;
  const { after, read, isLoading, error } = loaded;
  const { changes, since, before } = read;
  const more = () => {
    if (stopped.current !== undefined && !isLoading && since !== null) load(after, stopped.current);
  };
  return { read: { changes, since, before }, isLoading, error, more };
}

function useChanges(name: string): HistoryInUse {
  const [loaded, setLoaded] = useState<Loaded>(nothing);
  const [recorded, setRecorded] = useState<readonly Change[]>([]);
  const stopped = useRef<AbortSignal>(undefined);
  const listening = useRef<AbortSignal>(undefined);
  const reading = useRef<AbortController>(undefined);
  const read = (signal: AbortSignal) => {
    reading.current?.abort();
    reading.current = new AbortController();
    listening.current = signal;
    const both = AbortSignal.any([signal, reading.current.signal]);
    stopped.current = both;
    setRecorded([]);
    setLoaded(nothing());
    attempt(both, setLoaded, (own) => load(name, own, setLoaded));
  };
  const isLive = useStream(
    LiveChangesDocument,
    { domains: [name] },
    {
      read,
      onResult({ changes: { nodes, pageInfo } }) {
        const changes = nodes.filter(isChange);
        if (changes.length < nodes.length && listening.current !== undefined) read(listening.current);
        else if (changes.length > 0) setRecorded((known) => [...known, ...changes]);
        return pageInfo.endCursor ?? null;
      },
    },
  );
  const more = (count: number) => {
    const { after, isLoading, error } = loaded;
    const signal = stopped.current;
    if (signal === undefined || isLoading) return;
    // What has failed may be any part of it.
    if (error !== null) {
      setLoaded(nothing());
      return attempt(signal, setLoaded, (own) => load(name, own, setLoaded));
    }
    if (after === null) return;
    setLoaded((known) => ({ ...known, isLoading: true }));
    attempt(signal, setLoaded, (own) => loadOlder({ name }, after, [count, FURTHER_PAGES], own, setLoaded));
  };
  useEffect(() => {
    if (loaded.error !== null) more(0);
  }, [reconnected.value]);
  const { read: history, ...others } = loaded;
  // Whatever was read when: what was recorded since the stream has begun comes after it.
  const all = useMemo(() => withRecorded(history, recorded), [history, recorded]);
  return { ...others, history: all, whole: all, isLive, recorded, more };
}

/** Loads until all of it is there, or a part of it has failed, which ends the others. */
function attempt(signal: AbortSignal, update: Update, read: (signal: AbortSignal) => Promise<void>): void {
  const own = new AbortController();
  const both = AbortSignal.any([signal, own.signal]);
  read(both).then(
    () => update((known) => ({ ...known, isLoading: false })),
    (error) => {
      own.abort();
      if (!signal.aborted) update((known) => ({ ...known, error, isLoading: false }));
    },
  );
}

type Update = (change: (known: Loaded) => Loaded) => void;

/** Loads what is present and, page by page, what changed. */
async function load(name: string, signal: AbortSignal, update: Update): Promise<void> {
  const set = (read: Partial<LoadedHistory>, isCut: boolean) =>
    update((known) => ({ ...known, isCut: known.isCut || isCut, read: { ...known.read, ...read } }));
  await Promise.all([
    pageOfChanges({ name }, null, FIRST_PAGE, signal).then(({ nodes, next }) => {
      add(nodes, next, update);
      return next === null
        ? undefined
        : loadOlder({ name }, next, [MAX_LOADED - FIRST_PAGE, FURTHER_PAGES], signal, update);
    }),
    allOf(
      (page) => ask(DomainRecordsDocument, { name, ...page }, signal),
      ({ domain }) => domain?.dnsRecordsConnection,
      (records, isCut) => set({ records }, isCut),
    ),
    allOf(
      (page) => ask(DomainHeadersDocument, { name, ...page }, signal),
      ({ domain }) => domain?.httpHeadersConnection,
      (headers, isCut) => set({ headers }, isCut),
    ),
  ]);
}

/**
 * Loads about as many older changes.
 *
 * @param after Null: the newest ones.
 */
async function loadOlder(
  of: Of,
  after: string | null,
  [count, first]: readonly [count: number, first: number],
  signal: AbortSignal,
  update: Update,
): Promise<void> {
  let cursor = after;
  let waiting: Change[] = [];
  let drawn = performance.now();
  for (let loaded = 0; loaded < count; ) {
    const { nodes, next }: PageOfChanges = await pageOfChanges(of, cursor, first, signal);
    cursor = next;
    loaded += first;
    waiting = [...waiting, ...nodes];
    const isLast = cursor === null || loaded >= count;
    if (!isLast && performance.now() - drawn < DRAWN_EVERY) continue;
    add(waiting, cursor, update);
    waiting = [];
    drawn = performance.now();
    if (isLast && nodes.length > 0) await loadBefore(of.name, nodes, cursor, signal, update);
    if (cursor === null) break;
  }
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
    (page) => ask(DomainHeadersDocument, { name, at: timestampOf(since), ...page }, signal),
    ({ domain }) => domain?.httpHeadersConnection,
    (before) => update((known) => ({ ...known, read: { ...known.read, before } })),
  );
}

interface PageOfChanges {
  readonly nodes: readonly Change[];
  /** The cursor of what is older; null: there is nothing. */
  readonly next: string | null;
}

async function pageOfChanges(
  of: Of,
  after: string | null,
  first: number,
  signal: AbortSignal,
): Promise<PageOfChanges> {
  const { domain } = await ask(DomainChangesDocument, { ...of, first, after }, signal);
  const { nodes = [], pageInfo } = domain?.changes ?? {};
  return {
    nodes: nodes.filter(isChange),
    next: pageInfo?.hasNextPage === true ? (pageInfo.endCursor ?? null) : null,
  };
}

function add(nodes: readonly Change[], after: string | null, update: Update): void {
  update((known) => ({ ...known, after, read: withOlder(known.read, nodes, after === null) }));
}

/** So many pages of what is present: more than any domain that could be observed has. */
const MAX_PAGES = 20;

interface PageVariables {
  readonly first: number;
  readonly after: string | null;
}

/** Reads all pages of a list: a small one first, which most domains have no more than, and which costs least. */
async function allOf<Result, Node>(
  askFor: (page: PageVariables) => Promise<Result>,
  pageOf: (result: Result) => Page<Node> | null | undefined,
  onNodes: (nodes: readonly Node[], isCut: boolean) => void,
): Promise<void> {
  let after: string | null = null;
  let nodes: readonly Node[] = [];
  for (let pages = 1; ; pages += 1) {
    const first = after === null ? FIRST_PAGE : FURTHER_PAGES;
    const page: Page<Node> | null | undefined = pageOf(await askFor({ first, after }));
    if (page == null) return;
    nodes = [...nodes, ...page.nodes];
    const isLast = !page.pageInfo.hasNextPage || pages === MAX_PAGES;
    // Drawn when there is something, and when there is all.
    if (isLast || pages === 1) onNodes(nodes, isLast && page.pageInfo.hasNextPage);
    if (isLast) return;
    after = page.pageInfo.endCursor ?? null;
  }
}
