import { useEffect, useRef, useState } from 'preact/hooks';
import { domainAddress } from '../address.js';
import { ask, reconnected } from '../api.js';
import { ObservedChanges } from '../change-line.js';
import { type FeedChange, groupBy } from '../domain/history.js';
import { LatestChangesDocument, LiveChangesDocument } from '../operations.generated.js';
import { Failure, Loading, Section, Time } from '../parts.js';
import { useStream } from '../use-stream.js';
import { Text } from '../values.js';

const MAX_SHOWN = 40;

interface LatestChangesProps {
  readonly onChange: () => void;
  readonly hasHistory: boolean;
}

/**
 * What changed last at any domain: as it is recorded.
 *
 * @param props.onChange Called when something was recorded.
 * @param props.hasHistory Whether changes are known that the feed may not have.
 */
export function LatestChanges({ onChange, hasHistory }: LatestChangesProps) {
  const [latest, setLatest] = useState<readonly FeedChange[] | null>(null);
  const [recorded, setRecorded] = useState<readonly FeedChange[]>([]);
  const [error, setError] = useState<Error | null>(null);
  const [isPaused, setPaused] = useState(false);
  const reading = useRef<AbortSignal>(undefined);
  const read = (stopped: AbortSignal) => {
    reading.current = stopped;
    setError(null);
    ask(LatestChangesDocument, {}, stopped).then(
      ({ changes }) => setLatest(changes?.nodes ?? []),
      (problem) => {
        if (!stopped.aborted) setError(problem);
      },
    );
  };
  const again = () => {
    if (error !== null && reading.current !== undefined) read(reading.current);
  };
  useEffect(again, [reconnected.value]);
  const isLive = useStream(
    LiveChangesDocument,
    {},
    {
      read(stopped) {
        setRecorded([]);
        read(stopped);
      },
      onResult({ changes: { nodes, pageInfo } }) {
        if (nodes.length > 0) {
          setRecorded((known) => [...nodes.toReversed(), ...known].slice(0, MAX_SHOWN));
          onChange();
        }
        return pageInfo.endCursor ?? null;
      },
    },
    isPaused,
  );
  // What was recorded since the stream has begun may have been read, too.
  const ids = new Set(recorded.map(({ id }) => id));
  const changes = [...recorded, ...(latest ?? []).filter(({ id }) => !ids.has(id))].slice(0, MAX_SHOWN);
  return (
    <Section
      title="Latest changes"
      extra={
        <>
          <LiveState isLive={isLive} />
          <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
            Pause
          </button>
        </>
      }
    >
      <p class="muted">In the order of recording.</p>
      {error !== null && <Failure error={error} again={again} />}
      {latest === null && error === null && !isPaused && <Loading what="changes" />}
      {latest !== null && changes.length === 0 && (
        <p class="muted">
          {hasHistory
            ? 'None is in the feed: it has what was recorded since the upgrade that began it, for as long as CHANGES_KEPT says. The page of a domain has all of its changes.'
            : 'Nothing has changed yet.'}
        </p>
      )}
      <ol class="feed">
        {[...groupBy(changes, ({ domain, date }) => `${domain.name} ${date}`)].map(
          ([key, [first, ...others]]) =>
            first === undefined ? null : (
              <li key={key}>
                <p class="observation">
                  <a href={domainAddress(first.domain.name)}>
                    <Text value={first.domain.name} />
                  </a>{' '}
                  <Time value={first.date} />
                </p>
                <ObservedChanges changes={[first, ...others]} />
              </li>
            ),
        )}
      </ol>
    </Section>
  );
}

/** Whether changes arrive as they are recorded. */
export function LiveState({ isLive }: { readonly isLive: boolean }) {
  return (
    <span class={isLive ? 'live' : 'live off'} role="status">
      {isLive ? 'Updates automatically' : 'Does not update now'}
    </span>
  );
}
