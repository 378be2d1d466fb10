import { useEffect, useState } from 'preact/hooks';
import { ask, type Operation, token } from './api.js';

/** What is known of an answer. What was there before stays until the next one is there. */
export interface Answer<Result> {
  readonly data?: Result;
  readonly error?: Error;
  readonly isLoading: boolean;
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
  const [answer, setAnswer] = useState<Answer<Result>>({ isLoading: variables !== null });
  const key = JSON.stringify(variables);
  // The variables are known by their text.
  useEffect(() => {
    if (variables === null) {
      setAnswer({ isLoading: false });
      return undefined;
    }
    const controller = new AbortController();
    setAnswer(({ data }) => ({ ...(data !== undefined && { data }), isLoading: true }));
    ask(operation, variables, controller.signal).then(
      (data) => setAnswer({ data, isLoading: false }),
      (error) => {
        if (!controller.signal.aborted) setAnswer({ error, isLoading: false });
      },
    );
    return () => controller.abort();
  }, [operation, key, token.value, occasion]);
  return answer;
}

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
  const [pages, setPages] = useState<Omit<Pages<Node>, 'more'> & { readonly after: string | null }>(NOTHING);
  const [wanted, setWanted] = useState(0);
  const key = JSON.stringify([variables, token.value, occasion]);
  // Another question begins with its first page.
  useEffect(() => {
    setPages({ ...NOTHING, hasMore: variables !== null, isLoading: variables !== null });
    setWanted((count) => count + 1);
  }, [operation, key]);
  useEffect(() => {
    if (variables === null || wanted === 0) return undefined;
    const controller = new AbortController();
    const load = async () => {
      let { nodes, after }: { nodes: readonly Node[]; after: string | null } = pages;
      for (let found = 0; ; ) {
        const page = pageOf(await ask(operation, { ...variables, after }, controller.signal));
        nodes = [...nodes, ...(page?.nodes ?? [])];
        found += page?.nodes.length ?? 0;
        after = page?.pageInfo.endCursor ?? null;
        const hasMore = page?.pageInfo.hasNextPage === true;
        setPages({ nodes, after, hasMore, isLoading: hasMore && found === 0 });
        if (!hasMore || found > 0) return;
      }
    };
    load().catch((error) => {
      if (!controller.signal.aborted) setPages((known) => ({ ...known, error, isLoading: false }));
    });
    return () => controller.abort();
  }, [wanted]);
  const more = () => {
    if (pages.isLoading || !pages.hasMore) return;
    setPages((known) => ({ ...known, isLoading: true }));
    setWanted((count) => count + 1);
  };
  return { ...pages, more };
}

const NOTHING = { nodes: [], after: null, hasMore: false, isLoading: false };
