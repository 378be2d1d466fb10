import { useEffect, useMemo, useState } from 'preact/hooks';
import { domainAddress, type Parameters, useView } from '../address.js';
import { LiveState } from '../home/latest-changes.js';
import {
  DomainCountsDocument,
  type DomainCountsQuery,
  DomainSummaryDocument,
  type DomainSummaryQuery,
} from '../operations.generated.js';
import { Copyable, counted, Failure, formatNumber, Loading, Section, Time } from '../parts.js';
import { visibleText } from '../text-parts.js';
import { type Microseconds, microsecondsOf, timestampOf } from '../time.js';
import { useAnswer, useSettled } from '../use-answer.js';
import { Text } from '../values.js';
import { ChangeList } from './change-list.js';
import { Difference } from './difference.js';
import { type Filter, FilterChoice, filterOf, matchesChange, matchesLane } from './filter.js';
import { type Change, type LoadedHistory, lanesOf } from './history.js';
import { Instants, isInvalid, type Moments, momentsOf } from './instants.js';
import { LatestState, type Observed, StateAt } from './state.js';
import { type Span, Timeline } from './timeline.js';
import { TimelineTable } from './timeline-table.js';
import { type HistoryInUse, useHistory } from './use-history.js';

/** The history of a domain. */
export function DomainPage({ name }: { readonly name: string }) {
  const { parameters } = useView();
  const filter = useMemo(() => filterOf(parameters), [parameters['types'], parameters['headers']]);
  const used = useHistory(name, filter);
  const { recorded } = used;
  const [asked, setAsked] = useState({ occasion: 0, recorded: 0 });
  const { occasion } = asked;
  const { data, error, isLoading, again } = useAnswer(DomainSummaryDocument, { name }, occasion);
  const counts = useAnswer(DomainCountsDocument, { name }, occasion).data?.domain;
  const domain = data?.domain ?? null;
  // What was unknown, or not to be had, may be there now. What is known is kept up by what is recorded.
  const isMissing = domain === null && !isLoading;
  // A stream that does not continue another one begins to count anew.
  const hasBegunAnew = recorded.length < asked.recorded;
  useEffect(() => {
    if (hasBegunAnew || (isMissing && used.isLive)) {
      setAsked({ occasion: occasion + 1, recorded: recorded.length });
    }
  }, [recorded.length, used.isLive]);
  useEffect(() => {
    document.title = `${visibleText(name)} · Domain Metadata Service`;
  }, [name]);
  return (
    <>
      <header class="domain-head">
        <h1>
          <Text value={domain?.name ?? name} />
          {domain !== null && domain.unicodeName !== domain.name && (
            <span class="muted">
              {' '}
              <Text value={domain.unicodeName} />
            </span>
          )}
        </h1>
        <LiveState isLive={used.isLive} />
      </header>
      {error !== undefined && <Failure error={error} again={again} />}
      {isLoading && data === undefined && <Loading what="the domain" />}
      {data?.domain === null && <Unknown name={name} />}
      {domain !== null && (
        <History
          domain={withRecordedTimes(domain, recorded)}
          counts={withRecordedCounts(counts, recorded.slice(asked.recorded), used.whole)}
          used={used}
          filter={filter}
        />
      )}
    </>
  );
}

function withRecordedTimes(domain: Domain, recorded: readonly Change[]): Domain {
  const newest = recorded.reduce((latest, { date }) => (date > latest ? date : latest), domain.lastUpdate);
  if (newest === domain.lastUpdate) return domain;
  return { ...domain, lastUpdate: newest, lastChange: newest };
}

function withRecordedCounts(
  counts: Counts | null,
  recorded: readonly Change[],
  whole: LoadedHistory,
): Counts {
  if (counts === undefined || counts === null) return undefined;
  // What is all loaded tells by itself: the stream may bring what was counted already.
  const isAllLoaded = whole.since === null;
  const added = isAllLoaded ? whole.changes : recorded;
  const known = isAllLoaded ? { dnsRecordCount: 0, httpHeaderCount: 0, changeCount: 0 } : counts;
  const ofKind = (kind: Change['kind']) => added.filter((change) => change.kind === kind).length;
  return {
    dnsRecordCount: known.dnsRecordCount + ofKind('DNS_RECORD_ADDED'),
    httpHeaderCount: known.httpHeaderCount + ofKind('HEADER_CREATED'),
    changeCount: known.changeCount + added.length - ofKind('SITE_STATUS_CHANGED'),
  };
}

function Unknown({ name }: { readonly name: string }) {
  return (
    <Section title="Nothing is recorded for this domain">
      <p>
        Observe it with this command, in the folder of the service. What is recorded appears here by itself.
      </p>
      <Copyable text={`npx dms observe ${name}`} label="the command" />
    </Section>
  );
}

type Domain = NonNullable<DomainSummaryQuery['domain']>;
/** Undefined: not known yet. */
type Counts = NonNullable<DomainCountsQuery['domain']> | undefined;

interface HistoryProps {
  readonly domain: Domain;
  readonly counts: Counts;
  readonly used: HistoryInUse;
  readonly filter: Filter;
}

function History({ domain, counts, used, filter }: HistoryProps) {
  const { parameters, change } = useView();
  const moments = momentsOf(parameters);
  const settled = useSettled(moments);
  const lanes = useMemo(() => lanesOf(used.history, domain.name), [used.history, domain.name]);
  const shown = useMemo(() => lanes.filter((lane) => matchesLane(filter, lane)), [lanes, filter]);
  const changes = useMemo(
    () => used.history.changes.filter((each) => matchesChange(filter, each)),
    [used.history.changes, filter],
  );
  const isTable = parameters['as'] === 'table';
  const whole = useMemo(() => wholeOf(domain), [domain.created, domain.lastUpdate]);
  const total = counts === undefined ? '…' : formatNumber(counts.changeCount);
  const step = (direction: -1 | 1) => change(stepped(moments, changes, direction));
  const filterChoice = <FilterChoice history={used.whole} filter={filter} />;
  return (
    <>
      <Facts domain={domain} counts={counts} used={used} />
      {used.error !== null && <Failure error={used.error} />}
      <Section
        title="Timeline"
        extra={
          <>
            {filterChoice}
            <button
              type="button"
              aria-pressed={isTable}
              onClick={() => change({ as: isTable ? undefined : 'table' })}
            >
              As a table
            </button>
          </>
        }
      >
        {isTable ? (
          <TimelineTable lanes={shown} />
        ) : (
          <Timeline
            lanes={shown}
            whole={whole}
            since={used.history.since}
            view={viewOf(parameters, whole)}
            cursors={cursorsOf(moments)}
            onView={(view) => change({ zoom: view === null ? undefined : zoomText(view) }, true)}
            onPick={(time, isOther) => change(picked(moments, time, isOther))}
            onStep={step}
          />
        )}
        <LoadedNote total={total} used={used} />
      </Section>
      <Instants
        moments={moments}
        isInvalid={isInvalid(parameters)}
        latest={latestDates(used.history.changes)}
        change={change}
        onStep={step}
      />
      {settled.mode === 'one' ? (
        <StateAt
          name={domain.name}
          at={settled.at}
          filter={filter}
          observed={observedUpTo(domain, settled.at)}
          occasion={recordedUpTo(used.recorded, settled.at)}
        />
      ) : settled.mode === 'two' ? (
        <Difference
          name={domain.name}
          from={settled.from}
          to={settled.to}
          filter={filter}
          occasion={recordedUpTo(used.recorded, settled.to)}
        />
      ) : (
        <LatestState
          name={domain.name}
          filter={filter}
          observed={observedUpTo(domain, domain.lastUpdate)}
          now={used}
          lastUpdate={domain.lastUpdate}
        />
      )}
      <ChangeList
        name={domain.name}
        changes={changes}
        loaded={used.history.changes.length}
        total={total}
        hasMore={used.history.since !== null}
        isLoading={used.isLoading}
        more={() => used.more(500)}
      />
    </>
  );
}

/** How much was recorded that belongs to a time: what was read of it is to be read again. */
function recordedUpTo(recorded: readonly Change[], time: string): number {
  return recorded.filter(({ date }) => date <= time).length;
}

/** Which parts were observed up to a time: of others nothing is known, not even that there is nothing. */
function observedUpTo({ parts }: Domain, time: string): Observed {
  const observed = parts.filter(({ firstObserved }) => firstObserved != null && firstObserved <= time);
  return {
    dns: observed.some((part) => part.name !== 'HTTP'),
    http: observed.some((part) => part.name === 'HTTP'),
  };
}

/** What changed since the first observation; as long as not all changes are loaded, how many there are with these. */
function changesText(
  { changeCount }: NonNullable<Counts>,
  { since, changes }: HistoryInUse['history'],
): string {
  if (since !== null || changes.length === 0)
    return `${counted(changeCount, 'change')} with what was there at first`;
  const initial = changes.filter(({ routine }) => routine === 'INITIAL').length;
  return `${counted(changeCount - initial, 'change')}, ${formatNumber(initial)} there when first observed`;
}

function Facts({ domain, counts, used }: Pick<HistoryProps, 'domain' | 'counts' | 'used'>) {
  const { registrableDomain, created, lastChange } = domain;
  const { changes, since } = used.whole;
  // What a later part showed at first is no change, either.
  const changed =
    changes.find(({ routine }) => routine !== 'INITIAL')?.date ??
    (since === null && changes.length > 0 ? created : lastChange);
  const failed = domain.parts.filter(({ failure }) => failure != null);
  return (
    <>
      <dl class="facts">
        <div>
          <dt>First observed</dt>
          <dd>
            <Time value={domain.created} />
          </dd>
        </div>
        <div>
          <dt>Last observed</dt>
          <dd>
            <Time value={domain.lastUpdate} />
          </dd>
        </div>
        <div>
          <dt>Last change</dt>
          <dd>{changed === created ? 'none since then' : <Time value={changed} />}</dd>
        </div>
        <div>
          <dt>Recorded</dt>
          <dd>
            {counts === undefined
              ? '–'
              : `${counted(counts.dnsRecordCount, 'record')}, ${counted(counts.httpHeaderCount, 'header')}, ${changesText(counts, used.whole)}`}
          </dd>
        </div>
        {registrableDomain != null && registrableDomain !== domain.name && (
          <div>
            <dt>Registrable domain</dt>
            <dd>
              <a href={domainAddress(registrableDomain)}>
                <Text value={registrableDomain} />
              </a>
            </dd>
          </div>
        )}
      </dl>
      {failed.length > 0 && (
        <p class="muted">
          The last attempt to observe failed for{' '}
          {failed.map(({ name, failure }) => `${name} (${failure})`).join(', ')}.
        </p>
      )}
    </>
  );
}

function LoadedNote({ total, used }: { readonly total: string; readonly used: HistoryInUse }) {
  const { history, isLoading, error, more } = used;
  const isComplete = history.since === null;
  return (
    <>
      <p class="visually-hidden" role="status">
        {isLoading || error !== null ? '' : 'The history is loaded.'}
      </p>
      {(!isComplete || isLoading || error !== null) && (
        <p class="muted loaded">
          {formatNumber(history.changes.length)} of {total} changes loaded
          {history.since !== null && history.changes.length > 0 && (
            <>
              , back to <Time value={timestampOf(history.since)} />
            </>
          )}
          .{' '}
          <button type="button" onClick={() => more(2_500)} aria-disabled={isLoading}>
            {isLoading ? 'Loading…' : error === null ? 'Load older ones' : 'Try again'}
          </button>
        </p>
      )}
    </>
  );
}

/** The dates of the last change and of the one before. */
function latestDates(changes: readonly Change[]): readonly [newest: string, before: string] | null {
  const newest = changes[0]?.date;
  const before = changes.find(({ date }) => date !== newest)?.date;
  return newest === undefined || before === undefined ? null : [newest, before];
}

/** The time that is known of: at least a second. */
function wholeOf({ created, lastUpdate }: Domain) {
  const [from, to] = [microsecondsOf(created), microsecondsOf(lastUpdate)];
  return { from, to: Math.max(to, from + 1_000_000) };
}

/** What the address has in view; null: all, also where that is not of this domain. */
function viewOf({ zoom = '' }: Parameters, whole: Span): Span | null {
  const [from = Number.NaN, to = Number.NaN] = zoom.split('~').map(microsecondsOf);
  return from < to && from < whole.to && to > whole.from ? { from, to } : null;
}

function zoomText({ from, to }: { readonly from: Microseconds; readonly to: Microseconds }): string {
  return `${timestampOf(from)}~${timestampOf(to)}`;
}

function cursorsOf(moments: Moments): readonly Microseconds[] {
  if (moments.mode === 'two') return [microsecondsOf(moments.from), microsecondsOf(moments.to)];
  return moments.mode === 'one' ? [microsecondsOf(moments.at)] : [];
}

/** The parameters after a time was chosen. */
function picked(moments: Moments, time: Microseconds, isOther: boolean): Parameters {
  const chosen = timestampOf(time);
  if (moments.mode === 'two') {
    const other = isOther ? moments.to : moments.from;
    return orderedPair(other, chosen);
  }
  if (isOther && moments.mode === 'one') return orderedPair(moments.at, chosen);
  return { at: chosen, from: undefined, to: undefined };
}

function orderedPair(one: string, other: string): Parameters {
  const [from, to] = one < other ? [one, other] : [other, one];
  return { at: undefined, from, to };
}

/** The parameters for the change before or after: of two times, the later one goes there. */
function stepped(
  moments: Moments,
  changes: readonly { readonly date: string }[],
  direction: -1 | 1,
): Parameters {
  const current = moments.mode === 'two' ? moments.to : moments.mode === 'one' ? moments.at : '9';
  const next =
    direction === -1
      ? changes.find(({ date }) => date < current)
      : changes.findLast(({ date }) => date > current);
  if (next === undefined) return direction === 1 && moments.mode === 'one' ? { at: undefined } : {};
  if (moments.mode === 'two') return orderedPair(moments.from, next.date);
  return { at: next.date };
}
