import { type Change, type FeedChange, isChange } from './domain/history.js';
import { counted, Time } from './parts.js';
import { comparedHeaders, HeaderValue, Owner, Rdata } from './values.js';

const VERBS: Readonly<Partial<Record<Change['kind'], readonly [sign: string, verb: string]>>> = {
  DNS_RECORD_ADDED: ['+', 'added'],
  DNS_RECORD_REMOVED: ['−', 'removed'],
  HEADER_CREATED: ['+', 'appeared'],
  HEADER_UPDATED: ['~', 'changed'],
  HEADER_GONE: ['−', 'gone'],
  HEADER_RETURNED: ['+', 'returned'],
};

/**
 * The changes of an observation. What was there when its part was first observed did not change, and what is routine is not news: both
 * are told as a number, and open.
 */
export function ObservedChanges({ changes }: { readonly changes: readonly FeedChange[] }) {
  const initial = changes.filter(({ routine }) => routine === 'INITIAL');
  const notable = changes.filter(({ routine, kind }) => routine === null || kind === 'HISTORY_EXTENDED');
  const routine = changes.filter((change) => !initial.includes(change) && !notable.includes(change));
  return (
    <>
      {notable.length > 0 && <Lines changes={notable} />}
      {routine.length > 0 && (
        <details class="initial">
          <summary>{counted(routine.length, 'routine change')}</summary>
          <Lines changes={routine} />
        </details>
      )}
      {initial.length > 0 && (
        <details class="initial">
          <summary>First observed, with {contentOf(initial)}</summary>
          <Lines changes={initial} />
        </details>
      )}
    </>
  );
}

/** How many records and headers: `3 records and 1 header`. */
function contentOf(initial: readonly FeedChange[]): string {
  const records = initial.filter((change) => 'record' in change).length;
  const headers = initial.length - records;
  return [
    ...(records > 0 ? [counted(records, 'record')] : []),
    ...(headers > 0 ? [counted(headers, 'header')] : []),
  ].join(' and ');
}

function Lines({ changes }: { readonly changes: readonly FeedChange[] }) {
  return (
    <ul class="plain">
      {changes.map((change) => (
        <li key={change.id}>
          <ChangeLine change={change} />
        </li>
      ))}
    </ul>
  );
}

/** What changed, in a line: of a record or of a header, or of what was told before. */
function ChangeLine({ change }: { readonly change: FeedChange }) {
  if (isChange(change)) return <OwnChangeLine change={change} />;
  return (
    <span class="change">
      history extended, different from <Time value={change.earliest} /> on
    </span>
  );
}

function OwnChangeLine({ change }: { readonly change: Change }) {
  const [sign, verb] = VERBS[change.kind] ?? ['~', 'changed'];
  return (
    <span class={`change ${change.kind.toLowerCase()}`}>
      <span class="sign" aria-hidden="true">
        {sign}
      </span>
      {'newStatus' in change ? (
        <>
          <span class="tag">status</span> {change.oldStatus}
          <span aria-hidden="true"> → </span>
          <span class="visually-hidden"> to </span>
          {change.newStatus}
        </>
      ) : 'record' in change ? (
        <>
          <span class="tag">{change.record.type}</span>{' '}
          {change.record.host !== change.domain.name && (
            <>
              <Owner name={change.record.host} />{' '}
            </>
          )}
          <span class="visually-hidden">{verb}: </span>
          <Rdata record={change.record} />
        </>
      ) : (
        <>
          <span class="tag header">{change.name}</span> <span class="muted">{verb}</span>{' '}
          <HeaderChange change={change} />
        </>
      )}
      {'lastSeen' in change && (
        <span class="muted">
          {' '}
          {'new' in change ? 'the old value last seen' : 'last seen'} <Time value={change.lastSeen} />
        </span>
      )}
    </span>
  );
}

function HeaderChange({ change }: { readonly change: Extract<Change, { readonly name: string }> }) {
  if ('new' in change && 'old' in change) {
    const { before, after } = comparedHeaders(change.name, change.old, change.new);
    return (
      <>
        {before}
        <span aria-hidden="true"> → </span>
        <span class="visually-hidden"> to </span>
        {after}
      </>
    );
  }
  const value = 'new' in change ? change.new : change.old;
  return <HeaderValue name={change.name} value={value} />;
}
