import { useEffect, useRef, useState } from 'preact/hooks';
import { domainAddress } from '../address.js';
import { ask, listen, token } from '../api.js';
import { ChangeLine } from '../change-line.js';
import type { Change } from '../domain/history.js';
import { LatestChangesDocument, LiveChangesDocument } from '../operations.generated.js';
import { Failure, Loading, Section, Time } from '../parts.js';
import { Text } from '../values.js';

const MOST_SHOWN = 40;

/**
 * What changed last at any domain: as it is recorded.
 *
 * @param props.onChange Called when something was recorded.
 */
export function LatestChanges({ onChange }: { readonly onChange: () => void }) {
  const [changes, setChanges] = useState<readonly Change[] | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [isLive, setLive] = useState(false);
  const [isPaused, setPaused] = useState(false);
  const onRecorded = useRef(onChange);
  onRecorded.current = onChange;
  const add = (more: readonly Change[]) => {
    setChanges((known) => {
      const ids = new Set(more.map(({ id }) => id));
      const others = (known ?? []).filter(({ id }) => !ids.has(id));
      return [...more, ...others].slice(0, MOST_SHOWN);
    });
  };
  // With another token, all of it begins again.
  useEffect(() => {
    if (isPaused) return undefined;
    const controller = new AbortController();
    const { signal } = controller;
    const readLatest = async () => {
      const { changes: latest } = await ask(LatestChangesDocument, {}, signal);
      setError(null);
      add(latest.nodes);
    };
    const fail = (problem: Error) => {
      if (!signal.aborted) setError(problem);
    };
    // The stream first: nothing is missed between the two.
    void listen(
      LiveChangesDocument,
      {},
      {
        onResult({ changes: page }) {
          add(page.nodes.toReversed());
          if (page.nodes.length > 0) onRecorded.current();
          return page.pageInfo.endCursor ?? null;
        },
        onState: setLive,
        onLost: () => void readLatest().catch(fail),
      },
      signal,
    );
    readLatest().catch(fail);
    return () => controller.abort();
  }, [token.value, isPaused]);
  return (
    <Section
      title="Latest changes"
      extra={
        <>
          <LiveState isLive={isLive && !isPaused} />
          <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
            {isPaused ? 'Continue' : 'Pause'}
          </button>
        </>
      }
    >
      {error !== null && <Failure error={error} />}
      {changes === null && error === null && <Loading what="changes" />}
      {changes?.length === 0 && <p class="muted">Nothing has changed yet.</p>}
      <ol class="feed">
        {changes?.map((change) => (
          <li key={change.id}>
            <Time value={change.date} />{' '}
            <a href={domainAddress(change.domain)}>
              <Text value={change.domain} />
            </a>{' '}
            <ChangeLine change={change} />
          </li>
        ))}
      </ol>
    </Section>
  );
}

/** Whether changes arrive as they are recorded. */
export function LiveState({ isLive }: { readonly isLive: boolean }) {
  return (
    <span class={isLive ? 'live' : 'live off'} role="status">
      {isLive ? 'Live' : 'Not live'}
    </span>
  );
}
