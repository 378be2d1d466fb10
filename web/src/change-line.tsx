import { type Change, type FeedChange, isChange } from './domain/history.js';
import { Time } from './parts.js';
import { comparedHeaders, HeaderValue, Owner, Rdata } from './values.js';

const VERBS: Readonly<Partial<Record<Change['kind'], readonly [sign: string, verb: string]>>> = {
  DNS_RECORD_ADDED: ['+', 'added'],
  DNS_RECORD_REMOVED: ['−', 'removed'],
  HEADER_CREATED: ['+', 'appeared'],
  HEADER_UPDATED: ['~', 'changed'],
  HEADER_GONE: ['−', 'gone'],
  HEADER_RETURNED: ['+', 'returned'],
};

/** What changed, in a line: of a record or of a header, or of what was told before. */
export function ChangeLine({ change }: { readonly change: FeedChange }) {
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
      {'record' in change ? (
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
          last seen <Time value={change.lastSeen} />
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
