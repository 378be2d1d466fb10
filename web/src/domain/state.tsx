import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type CsvRow, STAY_COLUMNS } from '../../../src/model/csv.js';
import { DomainHeadersDocument, DomainRecordsDocument } from '../operations.generated.js';
import { Failure, Loading, MoreButton, Section, Time, zone } from '../parts.js';
import { compareTypes, keyOf, type RecordEntry, rrsetOf } from '../records.js';
import { formatTime, microsecondsOf } from '../time.js';
import { type Pages, usePages } from '../use-answer.js';
import { HeaderValue, Owner, Rdata, Text } from '../values.js';
import { Exports } from './exports.js';
import { type Filter, matchesHeader, matchesType } from './filter.js';
import { groupBy, type PresentHeader } from './history.js';
import type { Moments } from './instants.js';
import type { HistoryInUse } from './use-history.js';

interface StateProps {
  readonly name: string;
  readonly filter: Filter;
  /** Whether DNS and HTTP were observed up to the time that is shown. */
  readonly observed: Observed;
}

export interface Observed {
  readonly dns: boolean;
  readonly http: boolean;
}

/** So many records or headers are shown at first, and with each step. */
const STEP = 100;

interface LatestStateProps extends StateProps {
  readonly now: HistoryInUse;
  /** When the domain was last observed. */
  readonly lastUpdate: string;
}

/** The records and headers as they were observed last: as they were loaded, and recorded since. */
export function LatestState({ now, lastUpdate, ...props }: LatestStateProps) {
  const { history, isCut } = now;
  const { filter } = props;
  const records = useParts(
    history.records.filter(({ type }) => matchesType(filter, type)),
    now,
  );
  const headers = useParts(
    history.headers.filter(({ name, present }) => present && matchesHeader(filter, name)),
    now,
  );
  return (
    <ShownState {...props} title="Latest state" view={{ mode: 'now' }} records={records} headers={headers}>
      <p class="muted">
        As of <Time value={lastUpdate} />, when the domain was last observed.
      </p>
      {isCut && <p class="muted">Only the first 10,000 are shown.</p>}
    </ShownState>
  );
}

/** What is loaded, a part at a time. */
function useParts<Node>(loaded: readonly Node[], { isLoading, error, more }: HistoryInUse): Pages<Node> {
  const [count, setCount] = useState(STEP);
  const nodes = loaded.slice(0, count);
  const hasMore = count < loaded.length;
  return {
    nodes,
    hasMore,
    isLoading: isLoading && !hasMore,
    ...(error !== null && nodes.length === 0 && { error }),
    more: () => setCount(count + STEP),
    again: () => more(0),
  };
}

interface StateAtProps extends StateProps {
  readonly at: string;
  /** Reads again when it changes. */
  readonly occasion: number;
}

/** The records and headers of an instant. */
export function StateAt({ at, occasion, ...props }: StateAtProps) {
  const then = { name: props.name, at, first: STEP };
  const records = usePages(
    DomainRecordsDocument,
    then,
    ({ domain }) => domain?.dnsRecordsConnection ?? null,
    occasion,
  );
  const headers = usePages(
    DomainHeadersDocument,
    then,
    ({ domain }) => domain?.httpHeadersConnection ?? null,
    occasion,
  );
  const title = `At ${formatTime(microsecondsOf(at), zone.value)}`;
  return (
    <ShownState {...props} title={title} view={{ mode: 'one', at }} records={records} headers={headers} />
  );
}

interface ShownStateProps extends StateProps {
  readonly title: string;
  readonly view: Moments;
  readonly records: Pages<RecordEntry>;
  readonly headers: Pages<PresentHeader>;
  readonly children?: ComponentChildren;
}

function ShownState(props: ShownStateProps) {
  const { name, filter, observed, title, view, records, headers, children } = props;
  const shown = records.nodes.filter(({ type }) => matchesType(filter, type));
  const present = headers.nodes.filter((header) => header.present && matchesHeader(filter, header.name));
  const data = { domain: name, dnsRecords: shown, httpHeaders: present };
  return (
    <Section
      title={title}
      extra={
        <Exports
          name={name}
          view={view}
          table={() => ({
            columns: STAY_COLUMNS,
            rows: [
              ...shown.map((record) => recordRow(name, record)),
              ...present.map((header) => headerRow(name, header)),
            ],
          })}
          data={view.mode === 'one' ? { ...data, at: view.at } : data}
          isComplete={!records.hasMore && !headers.hasMore}
        />
      }
    >
      {children}
      <h3>DNS records</h3>
      <Found pages={records} what="records" isEmpty={shown.length === 0} isObserved={observed.dns}>
        <RecordSets records={shown} name={name} />
      </Found>
      <h3>HTTP headers</h3>
      <Found pages={headers} what="headers" isEmpty={present.length === 0} isObserved={observed.http}>
        <Headers headers={present} />
      </Found>
    </Section>
  );
}

interface FoundProps {
  readonly pages: Pages<unknown>;
  readonly what: string;
  /** Whether none of what is loaded is shown. */
  readonly isEmpty: boolean;
  readonly isObserved: boolean;
  readonly children: ComponentChildren;
}

function Found({ pages, what, isEmpty, isObserved, children }: FoundProps) {
  const { error, isLoading, hasMore, nodes, more, again } = pages;
  if (error !== undefined && nodes.length === 0) return <Failure error={error} again={again} />;
  return (
    <>
      {isLoading && nodes.length === 0 && <Loading what={what} />}
      {isEmpty && !isLoading && !hasMore && <p class="muted">{isObserved ? 'None.' : 'Not observed.'}</p>}
      {!isEmpty && children}
      {error !== undefined && <Failure error={error} again={again} />}
      {hasMore && <MoreButton isLoading={isLoading} more={more} label={`More ${what}`} />}
    </>
  );
}

function Headers({ headers }: { readonly headers: readonly PresentHeader[] }) {
  return (
    <table class="state">
      <thead class="visually-hidden">
        <tr>
          <th scope="col">Header</th>
          <th scope="col">Value</th>
        </tr>
      </thead>
      <tbody>
        {headers.map(({ name, value, lastSeen }) => (
          <tr key={name}>
            <th scope="row">
              <span class="tag header">{name}</span>
            </th>
            <td>
              <HeaderValue name={name} value={value} />{' '}
              <span class="muted since">
                last seen <Time value={lastSeen} />
              </span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function RecordSets({ records, name }: { readonly records: readonly RecordEntry[]; readonly name: string }) {
  const sets = [...groupBy(records, rrsetOf).values()].sort(([one], [other]) =>
    compareTypes(one?.type ?? '', other?.type ?? ''),
  );
  return (
    <table class="state">
      <thead class="visually-hidden">
        <tr>
          <th scope="col">Records</th>
          <th scope="col">Values</th>
        </tr>
      </thead>
      <tbody>
        {sets.map((set) => (
          <tr key={rrsetOf(set[0] as RecordEntry)}>
            <th scope="row">
              <span class="tag">{set[0]?.type}</span>{' '}
              {set[0]?.host === name ? <Text value={name} /> : <Owner name={set[0]?.host ?? ''} />}
            </th>
            <td>
              <ul class="plain">
                {set.map((record) => (
                  <li key={keyOf(record)}>
                    <Rdata record={record} />{' '}
                    <span class="muted since">
                      since <Time value={record.firstSeen} />, last seen <Time value={record.lastSeen} />
                    </span>
                  </li>
                ))}
              </ul>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function recordRow(domain: string, record: RecordEntry): CsvRow {
  const { type, host, class: recordClass, rdata, firstSeen, lastSeen, removed } = record;
  return {
    ...{ domain, kind: 'DNS', name: host, class: recordClass, type, value: rdata },
    ...{ first_seen: firstSeen, last_seen: lastSeen, removed },
  };
}

function headerRow(domain: string, { name, value, lastSeen }: PresentHeader): CsvRow {
  return { domain, kind: 'HTTP', name, value, last_seen: lastSeen };
}
