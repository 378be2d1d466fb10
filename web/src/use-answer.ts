import { useEffect, useState } from 'preact/hooks';
import { ask, type Operation, reconnected, session } from './api.js';

/** What is known of an answer. When it is asked for again, or that fails, what was there stays. */
export interface Answer<Result> {
  readonly data?: Result;
  readonly error?: Error;
  readonly isLoading: boolean;
  /** Asks again. */
  again(): void;
}

/**
 * Asks again after a failure: when `again` is called, and when the service is reachable again.
 *
 * @returns how often, and `again`.
 */
function useAgain(hasFailed: boolean): readonly [count: number, again: () => void] {
  const [count, setCount] = useState(0);
  const again = () => setCount((before) => before + 1);
  useEffect(() => {
    if (hasFailed) again();
  }, [reconnected.value]);
  return [count, again];
}

/**
 * Executes a query whenever its variables change, or the token.
 *
 * @param variables null: nothing is to be asked.
 * @param occasion Asks again when it changes.
 */
export function useAnswer<Result, Variables>(
  operation: Operation<Result, Variables>,
  variables: Variables | null,
  occasion: unknown = null,
): Answer<Result> {
  const key = JSON.stringify(variables);
  const [answer, setAnswer] = useState<Known<Result>>({ key, isLoading: variables !== null });
  const [attempts, again] = useAgain(answer.error !== undefined);
  // The variables are known by their text.
  useEffect(() => {
    if (variables === null) return undefined;
    const controller = new AbortController();
    const knownOf = (before: typeof answer) =>
      before.key === key && before.data !== undefined ? { data: before.data } : {};
    setAnswer((before) => ({ key, ...knownOf(before), isLoading: true }));
    ask(operation, variables, controller.signal).then(
      (data) => setAnswer({ key, data, isLoading: false }),
      (error) => {
        if (!controller.signal.aborted) {
          setAnswer((before) => ({ key, ...knownOf(before), error, isLoading: false }));
        }
      },
    );
    return () => controller.abort();
  }, [operation, key, session.value, occasion, attempts]);
  // Of another question, nothing is known yet.
  const known = answer.key === key ? answer : { isLoading: variables !== null };
  return { ...known, again };
}

type Known<Result> = Omit<Answer<Result>, 'again'> & { readonly key: string };

/** A value that is taken over when it has rested: what is passed over in steps is not asked for. */
export function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value);
  const key = JSON.stringify(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), REST);
    return () => clearTimeout(timer);
  }, [key]);
  return JSON.stringify(settled) === key ? value : settled;
}

/** In milliseconds. */
const REST = 200;

/** A page of a list, as the API has it. */
export interface Page<Node> {
  readonly nodes: readonly Node[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor?: string | null };
}

/** All pages of a list that were loaded. */
export interface Pages<Node> {
  readonly nodes: readonly Node[];
  readonly error?: Error;
  readonly isLoading: boolean;
  readonly hasMore: boolean;
  more(): void;
  /** Asks again for the page that failed. */
  again(): void;
}

/**
 * Reads a list page by page: the first at once, further ones by `more`. Pages without a match are passed over.
 *
 * @param variables null: nothing is to be asked.
 * @param pageOf Null where there is no list.
 */
export function usePages<Result, Variables, Node>(
  operation: Operation<Result, Variables>,
  variables: Variables | null,
  pageOf: (result: Result) => Page<Node> | null,
  occasion: unknown = null,
): Pages<Node> {
  const isAsked = variables !== null;
  const [pages, setPages] = useState<Omit<Pages<Node>, 'more' | 'again'> & { readonly after: string | null }>(
    {
      ...NOTHING,
      isLoading: isAsked,
    },
  );
  const [wanted, setWanted] = useState(0);
  const key = JSON.stringify([variables, session.value, occasion]);
  // Another question begins with its first page.
  useEffect(() => {
    setPages({ ...NOTHING, isLoading: isAsked });
    setWanted((count) => count + 1);
  }, [operation, key]);
  useEffect(() => {
    if (variables === null || wanted === 0) return undefined;
    const controller = new AbortController();
    const load = async () => {
      let { nodes, after }: { nodes: readonly Node[]; after: string | null } = pages;
      for (let [found, asked] = [0, 1]; ; asked += 1) {
        const page = pageOf(await ask(operation, { ...variables, after }, controller.signal));
        nodes = [...nodes, ...(page?.nodes ?? [])];
        found += page?.nodes.length ?? 0;
        after = page?.pageInfo.endCursor ?? null;
        const hasMore = page?.pageInfo.hasNextPage === true;
        const isEnough = !hasMore || found > 0 || asked === MAX_WITHOUT_MATCH;
        setPages({ nodes, after, hasMore, isLoading: !isEnough });
        if (isEnough) return;
      }
    };
    load().catch((error) => {
      if (!controller.signal.aborted) setPages((known) => ({ ...known, error, isLoading: false }));
    });
    return () => controller.abort();
  }, [wanted]);
  const again = () => {
    setPages(({ error: _error, ...known }) => ({ ...known, isLoading: true }));
    setWanted((count) => count + 1);
  };
  const more = () => {
    if (!pages.isLoading && pages.hasMore) again();
  };
  useEffect(() => {
    if (pages.error !== undefined) again();
  }, [reconnected.value]);
  return { ...pages, more, again };
}

/** So many pages without a match are passed over; then it is for the reader to go on. */
const MAX_WITHOUT_MATCH = 5;

const NOTHING = { nodes: [], after: null, hasMore: false, isLoading: false };
