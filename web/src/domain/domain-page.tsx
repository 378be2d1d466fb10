import { useEffect, useMemo } from 'preact/hooks';
import { type Parameters, useView } from '../address.js';
import { LiveState } from '../home/latest-changes.js';
import {
  DomainCountsDocument,
  type DomainCountsQuery,
  DomainSummaryDocument,
  type DomainSummaryQuery,
} from '../operations.generated.js';
import { Copyable, counted, Failure, formatNumber, Loading, Section, Time } from '../parts.js';
import { type Microseconds, microsecondsOf, timestampOf } from '../time.js';
import { useAnswer } from '../use-answer.js';
import { Pivot, Text } from '../values.js';
import { ChangeList } from './change-list.js';
import { Difference } from './difference.js';
import { FilterChoice, filterOf, matchesChange, matchesLane } from './filter.js';
import { lanesOf } from './history.js';
import { Instants, type Moments, momentsOf } from './instants.js';
import { State } from './state.js';
import { Timeline } from './timeline.js';
import { TimelineTable } from './timeline-table.js';
import { type HistoryInUse, useHistory } from './use-history.js';

/** The history of a domain. */
export function DomainPage({ name }: { readonly name: string }) {
  const used = useHistory(name);
  const { data, error, isLoading } = useAnswer(DomainSummaryDocument, { name }, used.occasion);
  const counts = useAnswer(DomainCountsDocument, { name }).data?.domain ?? undefined;
  const domain = data?.domain ?? null;
  useEffect(() => {
    document.title = `${name} · Domain Metadata Service`;
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
      {error !== undefined && <Failure error={error} />}
      {isLoading && data === undefined && <Loading what="the domain" />}
      {data?.domain === null && <Unknown name={name} />}
      {domain !== null && <History domain={domain} counts={counts} used={used} />}
    </>
  );
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
}

function History({ domain, counts, used }: HistoryProps) {
  const { parameters, change } = useView();
  const moments = momentsOf(parameters);
  const filter = useMemo(() => filterOf(parameters), [parameters['types'], parameters['headers']]);
  const lanes = useMemo(() => lanesOf(used.history, domain.name), [used.history, domain.name]);
  const shown = useMemo(() => lanes.filter((lane) => matchesLane(filter, lane)), [lanes, filter]);
  const changes = useMemo(
    () => used.history.changes.filter((each) => matchesChange(filter, each)),
    [used.history.changes, filter],
  );
  const isTable = parameters['as'] === 'table';
  const whole = useMemo(() => wholeOf(domain), [domain.created, domain.lastUpdate]);
  // More may have been recorded since they were counted.
  const total =
    counts === undefined ? '…' : formatNumber(Math.max(counts.changeCount, used.history.changes.length));
  const step = (direction: -1 | 1) => change(stepped(moments, changes, direction));
  const filterChoice = <FilterChoice lanes={lanes} filter={filter} />;
  return (
    <>
      <Facts domain={domain} counts={counts} />
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
              {isTable ? 'As a picture' : 'As a table'}
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
            view={viewOf(parameters)}
            cursors={cursorsOf(moments)}
            onView={(view) => change({ zoom: view === null ? undefined : zoomText(view) }, true)}
            onPick={(time, isOther) => change(picked(moments, time, isOther))}
            onStep={step}
          />
        )}
        <LoadedNote total={total} used={used} />
      </Section>
      <Instants moments={moments} change={change} onStep={step} />
      {moments.mode === 'two' ? (
        <Difference
          name={domain.name}
          from={moments.from}
          to={moments.to}
          filter={filter}
          occasion={used.occasion}
        />
      ) : (
        <State
          name={domain.name}
          at={moments.mode === 'one' ? moments.at : null}
          filter={filter}
          now={used}
        />
      )}
      <ChangeList
        name={domain.name}
        changes={changes}
        total={total}
        hasMore={used.history.since !== null}
        isLoading={used.isLoading}
        more={() => used.more(500)}
      />
    </>
  );
}

function Facts({ domain, counts }: Omit<HistoryProps, 'used'>) {
  const { registrableDomain } = domain;
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
          <dd>
            <Time value={domain.lastChange} />
          </dd>
        </div>
        <div>
          <dt>Recorded</dt>
          <dd>
            {counts === undefined
              ? '–'
              : `${counted(counts.dnsRecordCount, 'record')}, ${counted(counts.httpHeaderCount, 'header')}, ${counted(counts.changeCount, 'change')}`}
          </dd>
        </div>
        {registrableDomain != null && registrableDomain !== domain.name && (
          <div>
            <dt>Registered as</dt>
            <dd>
              <Pivot to={{ q: registrableDomain }} text={registrableDomain} />
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
  const { history, isLoading, more } = used;
  if (history.since === null && !isLoading) return null;
  return (
    <p class="muted loaded" role="status">
      {formatNumber(history.changes.length)} of {total} changes loaded
      {history.since !== null && (
        <>
          , back to <Time value={timestampOf(history.since)} />
        </>
      )}
      .{' '}
      <button type="button" onClick={() => more(2_500)} disabled={isLoading}>
        {isLoading ? 'Loading…' : 'Load older ones'}
      </button>
    </p>
  );
}

/** A little more than what is known, so that the last changes are not at the edge. */
function wholeOf({ created, lastUpdate }: Domain) {
  const [from, to] = [microsecondsOf(created), microsecondsOf(lastUpdate)];
  return { from, to: Math.max(to, from + 1_000_000) };
}

function viewOf({ zoom = '' }: Parameters) {
  const [from = Number.NaN, to = Number.NaN] = zoom.split('~').map(microsecondsOf);
  return from < to ? { from, to } : null;
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

export function orderedPair(one: string, other: string): Parameters {
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
