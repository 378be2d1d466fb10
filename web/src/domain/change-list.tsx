import { useState } from 'preact/hooks';
import { CHANGE_COLUMNS, type CsvRow } from '../../../src/model/csv.js';
import { ObservedChanges } from '../change-line.js';
import { formatNumber, MoreButton, Section, Time } from '../parts.js';
import { Text } from '../values.js';
import { DownloadButtons } from './exports.js';
import { type Change, groupBy } from './history.js';

interface ChangeListProps {
  readonly name: string;
  /** The newest first. */
  readonly changes: readonly Change[];
  /** How many are loaded, of any type and header. */
  readonly loaded: number;
  /** How many there are, loaded or not. */
  readonly total: string;
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  readonly more: () => void;
}

/** So many more are shown each time. */
const STEP = 100;

/** What changed, by observation, the newest first. */
export function ChangeList({ name, changes, loaded, total, hasMore, isLoading, more }: ChangeListProps) {
  const [count, setCount] = useState(STEP);
  const shown = changes.slice(0, count);
  const showMore = () => {
    if (count < changes.length) setCount(count + STEP);
    else more();
  };
  return (
    <Section
      title="Changes"
      extra={
        <>
          <span class="muted">
            {loaded === changes.length ? '' : `${formatNumber(changes.length)} in `}
            {formatNumber(loaded)} loaded of {total}
          </span>
          <DownloadButtons
            file={`${name}-changes`}
            table={() => ({ columns: CHANGE_COLUMNS, rows: changes.map(rowOf) })}
            data={changes}
            scope={hasMore ? ' of what is loaded' : ''}
          />
        </>
      }
    >
      <ol class="changes">
        {[...groupBy(shown, ({ date, source }) => `${date} ${source}`)].map(([key, ofObservation]) => (
          <li key={key}>
            <p class="observation">
              <Time value={ofObservation[0]?.date ?? ''} />
              {ofObservation[0]?.source != null && (
                <span class="muted">
                  {' '}
                  by <Text value={ofObservation[0].source} />
                </span>
              )}
            </p>
            <ObservedChanges changes={ofObservation} />
          </li>
        ))}
      </ol>
      {(count < changes.length || hasMore) && (
        <MoreButton isLoading={isLoading && count >= changes.length} more={showMore} label="Older changes" />
      )}
    </Section>
  );
}

function rowOf(change: Change): CsvRow {
  const { id, date, domain, kind, source, routine } = change;
  const at = { id, date, domain: domain.name, kind, source, routine };
  const lastSeen = { last_seen: 'lastSeen' in change ? change.lastSeen : null };
  if ('record' in change) {
    const { type, host: name, rdata } = change.record;
    return { ...at, name, type, [kind === 'DNS_RECORD_ADDED' ? 'new' : 'old']: rdata, ...lastSeen };
  }
  if ('newStatus' in change) {
    return { ...at, old: String(change.oldStatus), new: String(change.newStatus) };
  }
  const old = 'old' in change ? change.old : null;
  return { ...at, name: change.name, old, new: 'new' in change ? change.new : null, ...lastSeen };
}
