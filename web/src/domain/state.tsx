import { DomainHeadersDocument, DomainRecordsDocument } from '../operations.generated.js';
import { Failure, Loading, MoreButton, Section, Time, zone } from '../parts.js';
import { compareTypes, keyOf, type RecordEntry, rrsetOf, textOf } from '../records.js';
import { formatTime, microsecondsOf } from '../time.js';
import { type Pages, usePages } from '../use-answer.js';
import { HeaderValue, Rdata, Text } from '../values.js';
import { Exports } from './exports.js';
import { type Filter, matchesHeader, matchesType } from './filter.js';
import { groupBy, type PresentHeader } from './history.js';
import type { HistoryInUse } from './use-history.js';

interface StateProps {
  readonly name: string;
  /** Null: now. */
  readonly at: string | null;
  readonly filter: Filter;
  /** What is present, as it was loaded and recorded since. */
  readonly now: HistoryInUse;
}

/** The records and headers of an instant. */
export function State({ name, at, filter, now }: StateProps) {
  const then = at === null ? null : { name, at };
  const recordsThen = usePages(
    DomainRecordsDocument,
    then,
    ({ domain }) => domain?.dnsRecordsConnection ?? null,
  );
  const headersThen = usePages(
    DomainHeadersDocument,
    then,
    ({ domain }) => domain?.httpHeadersConnection ?? null,
  );
  const { history, isLoading } = now;
  const loaded = { hasMore: false, isLoading, more: () => {} };
  const records: Pages<RecordEntry> = at === null ? { ...loaded, nodes: history.records } : recordsThen;
  const headers: Pages<PresentHeader> = at === null ? { ...loaded, nodes: history.headers } : headersThen;
  const shownRecords = records.nodes.filter(({ type }) => matchesType(filter, type));
  const present = headers.nodes.filter((header) => header.present && matchesHeader(filter, header.name));
  const error = records.error ?? headers.error;
  return (
    <Section
      title={at === null ? 'Now' : `At ${formatTime(microsecondsOf(at), zone.value)}`}
      extra={
        <Exports
          name={name}
          view={at === null ? { mode: 'now' } : { mode: 'one', at }}
          rows={[...shownRecords.map(recordRow), ...present.map(headerRow)]}
          data={{ domain: name, at, dnsRecords: shownRecords, httpHeaders: present }}
          isComplete={!records.hasMore && !headers.hasMore}
        />
      }
    >
      {error !== undefined && <Failure error={error} />}
      <h3>DNS records</h3>
      {records.isLoading && records.nodes.length === 0 && <Loading what="records" />}
      <RecordSets records={shownRecords} isLoading={records.isLoading} />
      {records.hasMore && (
        <MoreButton isLoading={records.isLoading} more={records.more} label="More records" />
      )}
      <h3>HTTP headers</h3>
      {headers.isLoading && headers.nodes.length === 0 && <Loading what="headers" />}
      {!headers.isLoading && present.length === 0 && <p class="muted">None.</p>}
      {present.length > 0 && (
        <table class="state">
          <thead class="visually-hidden">
            <tr>
              <th scope="col">Header</th>
              <th scope="col">Value</th>
            </tr>
          </thead>
          <tbody>
            {present.map(({ name: header, value }) => (
              <tr key={header}>
                <th scope="row">
                  <span class="tag header">{header}</span>
                </th>
                <td>
                  <HeaderValue name={header} value={value} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {headers.hasMore && (
        <MoreButton isLoading={headers.isLoading} more={headers.more} label="More headers" />
      )}
    </Section>
  );
}

function RecordSets({
  records,
  isLoading,
}: {
  readonly records: readonly RecordEntry[];
  readonly isLoading: boolean;
}) {
  if (records.length === 0) return isLoading ? null : <p class="muted">None.</p>;
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
              <span class="tag">{set[0]?.type}</span> <Text value={set[0]?.host ?? ''} />
            </th>
            <td>
              <ul class="plain">
                {set.map((record) => (
                  <li key={keyOf(record)}>
                    <Rdata record={record} />{' '}
                    <span class="muted since">
                      since <Time value={record.firstSeen} />
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

/** A line of a table: what it is, whose, and its times. */
export type Row = Readonly<
  Record<'kind' | 'name' | 'host' | 'value' | 'firstSeen' | 'lastSeen' | 'removed', string>
>;

export function recordRow(record: RecordEntry): Row {
  const { type: name, host, firstSeen, lastSeen, removed } = record;
  return { kind: 'record', name, host, value: textOf(record), firstSeen, lastSeen, removed: removed ?? '' };
}

function headerRow({ name, value, lastSeen }: PresentHeader): Row {
  return { kind: 'header', name, host: '', value, firstSeen: '', lastSeen, removed: '' };
}
